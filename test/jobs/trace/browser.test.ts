import { globSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { LOOKS, auditOf, openPage, startBrowser } from '#test/support/browser.ts'
import { createTracedVersions } from './traced-versions.ts'

const { root, versions, activate, write } = await createTracedVersions(12)
for (const version of versions) await activate(version)
const traceDir = join(root, 'trace')
await write(traceDir)
const browser = await startBrowser()
afterAll(() => browser.close())

/** One page of each kind: of the trace, a knowledge base, a version and a source. */
const KINDS = ['index.html', '*/index.html', '*/versions/*.html', '*/snapshots/*.html']

describe.each(KINDS)('The page %s of a trace in a browser', (kind) => {
  test.each(LOOKS)('has no fault for axe and no overflow in $scheme on a $device', async (look) => {
    const [file] = globSync(kind, { cwd: traceDir }).toSorted()
    if (file === undefined) throw new Error(`the trace has no page ${kind}`)
    const url = pathToFileURL(join(traceDir, file)).href
    expect(await auditOf(browser, url, look)).toEqual([])
    const { page, faults, close } = await openPage(browser, url, look)
    expect(await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
    expect(faults).toEqual([])
    await close()
  })
})
