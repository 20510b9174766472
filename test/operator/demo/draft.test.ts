import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { mappingOf } from '#law/import/corpus/corpus-mapping.ts'
import { listSource } from '#law/sources/list.ts'
import { corpusAt } from '#operator/demo/corpus.ts'
import { draftFiles, openDraft } from '#operator/demo/draft.ts'
import { LOOKS, auditOf, openPage, startBrowser } from '#test/support/browser.ts'
import { consoleAt } from '#test/support/console.ts'
import { folderOfFile } from '#test/support/folder.ts'
import { importSnapshots } from '#test/support/import.ts'

const LONG = 'A mole has a lantern at each of its heads, which its keeper lights at sunset. '.repeat(80)
const FILES = {
  'act.html': `<html><h1>Mole Act</h1><h2>Section 1</h2><p>${LONG}</p><h2>Section 2</h2><p>No &lt;i&gt; fee.</p></html>`,
  'broken.xml': '<akomaNtoso>\n',
  'own.md': '---\ndocument: quay\ntitle: Quay Act\nlanguage: en\n---\n\n## Section 1\n\nA quay has a ladder.\n',
  'untitled.html': '<html><p>A buoy has a bell.</p></html>',
}
const STATED =
  'title: Harbour Rules\nauthority: Harbour Office\ncanonical_url: https://pier.example/\njurisdiction: ZZ\n' +
  'published_at: 2024-05-01\neffective_at: 2024-05-01\nlanguage: en\n'
const folder = folderOfFile()
for (const [name, content] of Object.entries(FILES)) writeFileSync(join(folder, name), content)
const state = (yaml: string): void => writeFileSync(join(folder, 'source.yaml'), yaml)
const corpus = corpusAt(folder)
const page = await openDraft(corpus)
const { send, headers } = consoleAt(page.url)
const browser = await startBrowser()
afterAll(async () => {
  await browser.close()
  await page.close()
})

async function drafted() {
  const files = []
  for await (const file of draftFiles(corpus)) files.push(file)
  return files
}

const MISSING = '6 fields missing: authority, canonical_url, published_at, effective_at, language, jurisdiction'

test('the page lists what each file lacks, and shows it as it is cut', async () => {
  const { text } = await send('/documents', {})
  expect(text).toMatch(/4 documents[^]*State what is missing in\s+\S+source\.yaml/)
  expect(text).toContain(`<b class="bad">Not served</b>: ${MISSING}`)
  expect(text).toContain('<b class="bad">Not served</b>: not well-formed XML: unclosed tag: akomaNtoso')
  const opened = (await send('/document', { revision: 'act.html' })).text
  expect(opened).toMatch(new RegExp(`Mole Act, Section 2</bdi></b>[^]*· not served: ${MISSING}[^]*No &lt;i&gt; fee`))
})

test('it answers no question, opens no other file, and nothing without its token and its origin', async () => {
  expect((await send('/ask', { question: 'What is a lantern?' })).status).toBe(404)
  for (const revision of ['source.yaml', '../act.html', join(folder, 'act.html')])
    expect(await send('/document', { revision })).toMatchObject({
      status: 422,
      text: expect.not.stringContaining('fee'),
    })
  for (const refused of [{ 'x-console-token': 'other' }, { origin: 'http://127.0.0.1:1' }, { host: 'rebound.example' }])
    expect((await send('/documents', {}, { ...headers, ...refused })).status).toBe(403)
})

test.each(LOOKS)('it needs the keyboard alone, and has no fault or overflow, in $scheme on a $device', async (look) => {
  expect(await auditOf(browser, page.url, look, async (tab) => void (await tab.waitForSelector('table')))).toEqual([])
  const { page: tab, faults, close } = await openPage(browser, page.url, look)
  await tab.getByRole('button', { name: 'Mole Act' }).press('Enter')
  await tab.waitForSelector('#held article')
  expect(await tab.evaluate<number>('document.documentElement.scrollWidth - innerWidth')).toBe(0)
  expect(faults).toEqual([])
  await close()
})

test('what a file lacks changes no text of its passages, and no label but for a title', async () => {
  const lacking = await drafted()
  expect(lacking.map(({ listed: { title, unserved } }) => [title, unserved?.split(':')[0]])).toEqual([
    ['Mole Act', '6 fields missing'],
    ['broken.xml', 'not well-formed XML'],
    ['Quay Act', '5 fields missing'],
    ['untitled.html', '7 fields missing'],
  ])
  state(STATED)
  const mapping = await mappingOf(folder)
  const { files } = await listSource(folder, mapping.format)
  const snapshots = files.map((file) => ({ ...file, id: '0b0f2c52-5a3a-4d0e-8f3c-1f0a35f0a002' }))
  const { passages: imported } = await importSnapshots({ mapping, snapshots })
  const shown = lacking.flatMap(({ passages }) => passages.map(({ passage }) => passage))
  expect(shown.map(({ text }) => text)).toEqual(imported.map(({ text }) => text))
  const labels = imported.map(({ citation: { label } }) => label)
  expect(shown.map(({ citation: { label } }) => label).slice(0, -1)).toEqual(labels.slice(0, -1))
})

test('a value that is not understood is said, and so is that no field is missing', async () => {
  state(STATED.replace('language: en', 'language: english!'))
  expect((await drafted())[0]?.listed).toMatchObject({ passages: 0, unserved: 'language is not a BCP 47 tag' })
  state(STATED)
  writeFileSync(join(folder, 'broken.xml'), FILES['untitled.html'])
  expect((await send('/documents', {})).text).toContain('No field is missing: start again without --draft.')
  expect((await send('/document', { revision: 'act.html' })).text).toContain('no field is missing')
})
