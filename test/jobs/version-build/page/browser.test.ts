import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { extractText, getDocumentProxy } from 'unpdf'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { LOOKS, auditOf, openPage, startBrowser } from '#test/support/browser.ts'
import { openJobsHarness } from '#test/support/jobs.ts'
import { MANY, pageOfMany } from './many-changes.ts'
import { buildPages } from './two-versions.ts'
import { folderOfFile } from '#test/support/folder.ts'

const PAGES = ['first', 'later', 'many'] as const
const DESK = { scheme: 'light', device: 'desk' } as const
/** Stops of the tabulator before the first change: links of the page, the search, its kind and its box. */
const TABS_MAX = 40
const PICTURE_HEIGHT = 2_400

const harness = await openJobsHarness()
let browser: Browser
const folder = folderOfFile()
/** `PAGE_PICTURES=FOLDER` keeps pictures of the pages there. */
const pictures = process.env['PAGE_PICTURES']

const urlOf = (name: (typeof PAGES)[number]): string => pathToFileURL(join(folder, `${name}.html`)).href

beforeAll(async () => {
  const { first, later, folder: built } = await buildPages(harness)
  await writeFile(join(folder, 'first.html'), first)
  await writeFile(join(folder, 'later.html'), later)
  await writeFile(join(folder, 'many.html'), await pageOfMany(built, join(folder, 'many')))
  browser = await startBrowser()
})
afterAll(() => browser?.close())

/** What is below the window is not drawn, so that the window is made as high as a picture is useful. */
async function keepPicture(page: Page, path: string): Promise<void> {
  const width = page.viewportSize()?.width ?? 0
  await page.setViewportSize({ width, height: PICTURE_HEIGHT })
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))')
  await page.screenshot({ path })
}

describe.each(['first', 'later'] as const)('The page of a %s version in a browser', (name) => {
  test.each(LOOKS)('has no fault for axe and no overflow in $scheme on a $device', async (look) => {
    expect(await auditOf(browser, urlOf(name), look)).toEqual([])
    const { page, faults, close } = await openPage(browser, urlOf(name), look)
    if (pictures !== undefined) await keepPicture(page, join(pictures, `${name}-${look.scheme}-${look.device}.png`))
    expect(await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
    expect(faults).toEqual([])
    await close()
  })

  test('lets a reviewer tick by keyboard alone, find by words, and keeps the ticks', async () => {
    const { page, close } = await openPage(browser, urlOf(name), DESK)
    for (let tab = 0; tab < TABS_MAX; tab += 1) {
      await page.keyboard.press('Tab')
      if (await page.evaluate<boolean>("document.activeElement.matches('input.tick')")) break
    }
    await page.keyboard.press('Space')
    expect(await page.textContent('#found')).toMatch(/, 1 ticked$/)
    await page.reload()
    expect(await page.textContent('#found')).toMatch(/, 1 ticked$/)
    await page.fill('#find', 'no text of the page has these words')
    await page.locator('#found', { hasText: /^0 of/ }).waitFor()
    const others = page.locator('details.group:not(:has(article.change)) > summary')
    expect(await others.count()).toBeGreaterThan(0)
    for (const other of await others.all()) expect(await other.isVisible()).toBe(true)
    await close()
  })

  test('prints every change, also of a document that is closed', async () => {
    const { page, close } = await openPage(browser, urlOf(name), DESK)
    await page.evaluate("for (const one of document.querySelectorAll('details')) one.open = false")
    const printed = await page.pdf()
    if (pictures !== undefined) await writeFile(join(pictures, `${name}.pdf`), printed)
    const { text } = await extractText(await getDocumentProxy(new Uint8Array(printed)), { mergePages: true })
    const words = (part: string): string => part.replaceAll(/\s+/g, '')
    const labels = await page.locator('article.change b').allTextContents()
    expect(labels.length).toBeGreaterThan(0)
    for (const label of labels) expect(words(text)).toContain(words(label))
    await close()
  })
})

test.each(LOOKS)('The page of a later version begins with the law in $scheme on a $device', async (look) => {
  const { page, close } = await openPage(browser, urlOf('later'), look)
  const changed = await page.locator('article.change del').first().boundingBox()
  const viewport = page.viewportSize()?.height ?? 0
  expect(changed?.y).toBeLessThan(look.device === 'desk' ? 300 : viewport)
  await close()
})

test(`${MANY.passages} passages with ${MANY.changes} changes open with all changes and all passages of a document`, async () => {
  const { page, faults, close } = await openPage(browser, urlOf('many'), DESK)
  expect(await page.textContent('#found')).toBe(`${MANY.changes} of ${MANY.changes} shown, 0 ticked`)
  const openMs = await page.evaluate<number>("performance.getEntriesByType('navigation')[0].loadEventEnd")
  await page.click('ul.documents a >> nth=0')
  await page.waitForSelector('#document:not([hidden]) h3')
  expect(await page.locator('#document .passage').count()).toBe(160)
  expect(faults).toEqual([])
  const { length } = await readFile(join(folder, 'many.html'))
  process.stdout.write(`The page of ${(length / 1e6).toFixed(1)} MB is open after ${openMs.toFixed(0)} ms.\n`)
  await close()
})
