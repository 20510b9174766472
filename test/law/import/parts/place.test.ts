import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Passage } from '#law/import/passage/passage.ts'
import type { Mapping } from '#law/import/mapping/mapping.ts'
import { isTextWith } from '#law/import/parts/parts.ts'
import { createPlaceReader } from '#law/import/parts/text-at.ts'
import { importFiles, line, smallMapping } from '#test/support/import.ts'
import { beeRules } from '#test/support/markdown-source.ts'
import { folderOfFile } from '#test/support/folder.ts'

const folder = folderOfFile()

/** Imports one file. @returns each passage with the text at its place. */
async function placed(
  name: string,
  content: string,
  mapping?: Mapping,
): Promise<readonly { readonly passage: Passage; readonly own: string | undefined }[]> {
  const path = join(folder, name)
  writeFileSync(path, content)
  const { passages } = await importFiles([path], mapping)
  using reader = createPlaceReader()
  const found = []
  for (const passage of passages) found.push({ passage, own: await reader.textAt(path, passage.selector) })
  return found
}

function expectAllFound(found: Awaited<ReturnType<typeof placed>>): void {
  for (const { passage, own } of found) expect(isTextWith(passage.text, own ?? '')).toBe(true)
}

/** Letters of one to four bytes, an escape of JSON, and white space. */
const WORD = fc.string({ unit: fc.constantFrom('a', 'ß', '§', '語', '𝔘', '"', '\\', '\t'), minLength: 1, maxLength: 9 })
const PARAGRAPH = fc.array(WORD, { minLength: 1, maxLength: 9 }).map((words) => `Text ${words.join(' ')} end.`)

test('every passage of Markdown stands at its place, with comments, CRLF and a byte order mark', async () => {
  const piece = fc.oneof(PARAGRAPH, fc.constantFrom('Before <!-- not law --> after.', '<!-- a\ncomment -->'))
  const sections = fc.array(fc.array(piece, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 3 })
  await fc.assert(
    fc.asyncProperty(sections, fc.boolean(), fc.boolean(), async (texts, mark, windows) => {
      const body = texts.map((text, at) => `## BEE-M ${at + 1}.1 Title\n\nFirst. ${text.join('\n\n')}\n`).join('\n')
      const file = `${mark ? '\uFEFF' : ''}${beeRules(body)}`
      const found = await placed('a.md', windows ? file.replaceAll('\n', '\r\n') : file)
      expect(found).toHaveLength(texts.length)
      expectAllFound(found)
    }),
    { numRuns: 20 },
  )
})

test('a comment within a text is left out of its range', async () => {
  const [found] = await placed('c.md', beeRules('## BEE-M 1.1 Title\n\nHives <!-- or bees --> are kept.\n'))
  expect(found).toMatchObject({ own: 'Hives  are kept.', passage: { selector: { omits: [expect.anything()] } } })
})

test('every passage of JSONL stands at its place, whatever its letters', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(PARAGRAPH, { minLength: 1, maxLength: 4 }), fc.boolean(), async (texts, mark) => {
      const lines = texts.map((text, at) => line(String(at + 1), `  ${text}\n`, { section: String(at + 1) })).join('\n')
      const found = await placed('corpus.jsonl', `${mark ? '\uFEFF' : ''}${lines}\n`, smallMapping())
      expect(found.map(({ own }) => own)).toEqual(texts.map((text) => text.trim()))
    }),
    { numRuns: 20 },
  )
})

test('each part of a long text stands at a place of its own, below its lead-in', async () => {
  const items = [...'abcd'].map((mark) => `(${mark})\n𝔘 ${`${mark.repeat(7)} `.repeat(200).trim()};`)
  const text = `The following practices shall be prohibited:\n${items.join('\n')}`
  const found = await placed('corpus.jsonl', line('a', text), smallMapping())
  expect(found).toHaveLength(2)
  expectAllFound(found)
  expect(found[1]?.own).toMatch(/^\(c\)/)
})

test('a place elsewhere holds another text', async () => {
  const path = join(folder, 'other.md')
  writeFileSync(path, 'Hives are kept.')
  using reader = createPlaceReader()
  expect(await reader.textAt(path, { type: 'DataPositionSelector', start: 0, end: 5 })).toBe('Hives')
  expect(await reader.textAt(path, { type: 'DataPositionSelector', start: 10, end: 99 })).toBe('kept.')
  const json = { type: 'JsonPointerSelector', line: 1, offset: 0, pointer: '/text', start: 0, end: 1 } as const
  expect(await reader.textAt(path, json)).toBeUndefined()
})
