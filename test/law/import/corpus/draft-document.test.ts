import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { sha256 } from '#core/platform/digest.ts'
import { draftDocument } from '#law/import/corpus/draft-document.ts'
import { statedMapping } from '#law/import/corpus/corpus-mapping.ts'
import { parseSourceYaml } from '#law/import/corpus/source-yaml.ts'
import { createPlaceReader, isOwnText } from '#law/import/parts/text-at.ts'
import { docxOf, paragraph, pdfOf } from '#test/law/readers/files.ts'
import { folderWith } from '#test/support/folder.ts'
import { importFiles } from '#test/support/import.ts'

const STATED = `
title: Order on bees
authority: Bee Office
jurisdiction: ZZ
language: en
canonical_url: https://bees.example/
published_at: 2020-01-01
effective_at: 2020-02-01
`
const PDF = pdfOf([
  [
    { text: 'Order on bees', y: 720, size: 20 },
    { text: 'Section 1 Hives', y: 680, size: 14 },
    { text: 'Every hive is counted.', y: 660 },
  ],
  [
    { text: 'Hives are marked.', y: 745 },
    { text: 'Section 2 Honey', y: 720, size: 14 },
    { text: 'Honey is stored.', y: 700 },
  ],
])
let folder: string
beforeEach(() => {
  folder = folderWith({ 'order.pdf': PDF })
})

test('a draft has provisions, pages and what the original is; corrected, its passages have a place in both', async () => {
  const { markdown } = await draftDocument(join(folder, 'order.pdf'), 'order.pdf')
  expect(markdown).toContain('Every hive is counted.\n\n<!-- page 2 -->\n\nHives are marked.\n')
  expect(markdown).toMatch(/^#+ Section 2 Honey$/m)
  const corrected = markdown.replace('Every hive is counted.', 'Every hive is counted twice.')
  await writeFile(join(folder, 'order.pdf.draft.md'), corrected)
  const paths = [join(folder, 'order.pdf'), join(folder, 'order.pdf.draft.md')]
  const { passages, report } = await importFiles(paths, statedMapping(parseSourceYaml(STATED)))
  expect(report.losses).toMatchObject([{ id: 'section-1-hives', reason: expect.stringContaining('source-declared') }])
  const digest = sha256(PDF).toString('hex')
  expect(passages.map(({ text, selector: { original } }) => [text, original])).toEqual([
    ['Every hive is counted twice.\n\nHives are marked.', { sha256: digest, page: 1 }],
    ['Honey is stored.', { sha256: digest, page: 2 }],
  ])
  using reader = createPlaceReader()
  for (const { text, selector } of passages)
    expect(isOwnText(text, selector, (await reader.textAt(paths[1] ?? '', selector)) ?? '')).toBe(true)
})

test('a draft of another original is refused, and so is one without it', async () => {
  const draft = join(folder, 'order.pdf.draft.md')
  await writeFile(draft, (await draftDocument(join(folder, 'order.pdf'), 'order.pdf')).markdown)
  const mapping = statedMapping(parseSourceYaml(STATED))
  const alone = await importFiles([draft], mapping)
  expect(alone.report.losses[0]?.reason).toContain('the original order.pdf of the draft is not beside it')
  await writeFile(join(folder, 'order.pdf'), pdfOf([[{ text: 'Another order.', y: 700 }]]))
  const other = await importFiles([join(folder, 'order.pdf'), draft], mapping)
  expect(other.report.losses[0]?.reason).toContain('order.pdf is not the file that was drafted')
})

test('a Word document is drafted with its headings; a scan and a file with structure are refused', async () => {
  const word = join(folder, 'order.docx')
  await writeFile(word, docxOf(`${paragraph('Hives', 'H1')}${paragraph('Count hives.')}`))
  expect((await draftDocument(word, 'order.docx')).markdown).toMatch(/^# Hives\n\nCount hives\.$/m)
  const scan = join(folder, 'scan.pdf')
  await writeFile(scan, pdfOf([[]]))
  await expect(draftDocument(scan, 'scan.pdf')).rejects.toThrow(
    'scan.pdf is not drafted (page 1): a scan without a text',
  )
  const page = join(folder, 'page.html')
  await writeFile(page, '<!doctype html><html><body><h1>Bees</h1></body></html>')
  await expect(draftDocument(page, 'page.html')).rejects.toThrow('page.html is html, whose structure is stated')
})
