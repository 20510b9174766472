import { writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { BUILD_BOUNDS } from '#jobs/version-build/bounds.ts'
import { buildParametersSchema } from '#jobs/version-build/parameters.ts'
import {
  captureSearchQuestions,
  readSearchQuestions,
  placeSearchQuestions,
} from '#jobs/version-build/search-questions/file.ts'
import { testPassage } from '#test/support/passages.ts'
import { storeIn } from '#test/support/artifact.ts'
import { folderOfFile } from '#test/support/folder.ts'

const folder = folderOfFile()
const store = storeIn(folder)
const workFolder = join(folder, 'work')

function fileOf(...lines: readonly (string | Uint8Array | object)[]): string {
  const path = join(folder, 'asked.jsonl')
  const bytes = lines.map((line) =>
    line instanceof Uint8Array ? line : Buffer.from(typeof line === 'string' ? line : JSON.stringify(line)),
  )
  writeFileSync(path, Buffer.concat(bytes.flatMap((line) => [line, Buffer.from('\n')])))
  return path
}

const question = (id: string, q: string, lang = 'en'): { id: string; lang: string; q: string } => ({ id, lang, q })
const read = (path: string): ReturnType<typeof readSearchQuestions> => readSearchQuestions(path, 'asked.jsonl')

describe('a file of search questions', () => {
  const good = question('doc-0#r1', 'May I keep bees?')

  test.each<[string, string | Uint8Array | object, RegExp]>([
    ['no JSON', '{"id":', /line 2, is not JSON in UTF-8/],
    ['bytes that are no UTF-8', Buffer.from([0xff]), /line 2, is not JSON in UTF-8/],
    ['no object', '7', /line 2, is no search question \(the line itself\)/],
    ['a missing field', { id: 'a', q: 'Why?' }, /line 2, is no search question \(lang\)/],
    ['an unknown field', { ...good, note: 'x' }, /line 2, is no search question \(unknown "note"\)/],
    ['a field twice', '{"id":"a","id":"b","lang":"en","q":"Why?"}', /line 2, has a field twice/],
    ['a blank question', question('a', ' '), /line 2, is no search question \(q\)/],
    ['half a character', question('a', 'Why \ud800?'), /line 2, is no search question \(q\)/],
    ['no language', question('a', 'Why?', 'every language'), /line 2, is no search question \(lang\)/],
    [
      'a question beyond the bound',
      question('a', 'x'.repeat(BUILD_BOUNDS.searchQuestionCharactersMax + 1)),
      /line 2, is no search question \(q\)/,
    ],
    [
      'a line beyond the bound',
      question('a', 'x'.repeat(BUILD_BOUNDS.searchQuestionLineBytesMax)),
      /line 2, is longer than/,
    ],
    ['a question twice', good, /line 2, repeats a question of its passage/],
  ])('with %s is refused by its line', async (_, line, message) => {
    await expect(read(fileOf(good, line))).rejects.toThrow(message)
  })

  test('with more questions of one passage than the bound is refused by its line', async () => {
    const most = BUILD_BOUNDS.searchQuestionsPerPassageMax
    const lines = Array.from({ length: most + 1 }, (_, n) => question('a', `Why ${n}?`))
    expect((await read(fileOf(...lines.slice(1)))).get('a')).toHaveLength(most)
    await expect(read(fileOf(...lines))).rejects.toThrow(`line ${most + 1}, is question ${most + 1} of its passage`)
  })

  test('without a question, or that cannot be read, is refused', async () => {
    await expect(read(fileOf(''))).rejects.toThrow(/holds no search question/)
    await expect(captureSearchQuestions(join(folder, 'nowhere.jsonl'), store)).rejects.toThrow(/not a file/)
  })
})

describe('the search questions of a build', () => {
  const passages = Array.from({ length: 5 }, (_, n) => testPassage(n))

  async function placed(
    rows: readonly PassageRecord[],
    ...lines: readonly object[]
  ): ReturnType<typeof placeSearchQuestions> {
    await mkdir(workFolder, { recursive: true })
    writeFileSync(join(workFolder, 'passages.jsonl'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
    const sha256 = await captureSearchQuestions(fileOf(...lines), store)
    const parameters = buildParametersSchema.parse({ embedding: 'none', search_questions_sha256: sha256 })
    return await placeSearchQuestions({ parameters, store, workFolder, signal: new AbortController().signal })
  }

  test('stand in the order of the rows of their passages', async () => {
    const found = await placed(
      passages,
      question('doc-0#r3', 'C?'),
      question('doc-0#r1', 'A?'),
      question('doc-0#r3', 'B?'),
    )
    expect(found).toEqual([
      { row: 1, ...question('doc-0#r1', 'A?') },
      { row: 3, ...question('doc-0#r3', 'C?') },
      { row: 3, ...question('doc-0#r3', 'B?') },
    ])
  })

  test('belong to the part of a record that shares most words, and to every revision of it', async () => {
    const part = (n: number, text: string, revision: string): PassageRecord => ({
      ...testPassage(n, { text, revision }),
      source_id: 'record',
    })
    const rows = [
      part(0, 'Bees are kept in hives.', 'old'),
      part(1, 'Honey is sold in jars.', 'old'),
      part(2, 'Honey in jars is labelled. Bees are kept in hives.', 'new'),
    ]
    const found = await placed(rows, question('record', 'May I sell honey in old jars?'), question('record', 'Why?'))
    expect(found.map(({ row, q }) => [row, q])).toEqual([
      [0, 'Why?'],
      [1, 'May I sell honey in old jars?'],
      [2, 'May I sell honey in old jars?'],
      [2, 'Why?'],
    ])
  })

  test('are refused by the first line whose passage the version does not hold', async () => {
    const lines = [question('doc-0#r1', 'A?'), question('doc-0#r9', 'B?'), question('another', 'C?')]
    await expect(placed(passages, ...lines)).rejects.toThrow(/line 2, names "doc-0#r9", which no passage/)
  })
})
