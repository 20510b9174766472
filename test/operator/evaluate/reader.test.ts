import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DEFAULT_CHAT_READER_CALIBRATION, DEFAULT_CALIBRATION } from '#core/domain/default-calibration.ts'
import { judge } from '#operator/evaluate/field-questions/judge.ts'
import type { FieldQuestion } from '#operator/evaluate/field-questions/questions.ts'
import { openFlaggedReader } from '#operator/evaluate/reader.ts'
import { found, measured, replyWith } from '#test/support/evaluation.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'reader-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const NO_SIGNAL = new AbortController().signal
const question: FieldQuestion = {
  id: 'q1',
  question: 'who pays fees?',
  kind: 'plain',
  relevant: new Set(['a']),
  label: 'answerable',
  half: 'tuning',
}

const asked = [{ id: question.id, text: question.question }]

test('recorded scores are read by the ids of question and passages; a passage without one is passed over', async () => {
  const file = join(folder, 'scores.jsonl')
  writeFileSync(file, '{"questions":"x","id":"q1","passages":[{"id":"a","score":55},{"id":"b","score":4}]}\n')
  const reader = await openFlaggedReader({ reader: file }, asked, NO_SIGNAL)
  const list = [found('b', 1), found('c', 0.5), found('a~2', 0.4)]
  expect(await reader?.read(question.question, list, NO_SIGNAL)).toEqual({ scores: [0.04, 0.55], tokens: null })
  const none = { scores: [], tokens: null }
  expect(await reader?.read(question.question, [found('c', 1)], NO_SIGNAL)).toEqual(none)
  expect(await reader?.read('another question', list, NO_SIGNAL)).toEqual(none)
})

test('an endpoint needs a model, and a file has none', async () => {
  await expect(openFlaggedReader({ reader: 'http://127.0.0.1:9/v1' }, [], NO_SIGNAL)).rejects.toThrow('--reader-model')
  await expect(openFlaggedReader({ reader: 'x.jsonl', readerModel: 'm' }, [], NO_SIGNAL)).rejects.toThrow('no model')
  expect(await openFlaggedReader({}, [], NO_SIGNAL)).toBeUndefined()
})

test('a reading decides by its own calibration, and the first words do not', () => {
  const replies = { lexical: replyWith(['a', 'b'], measured({ words_best: 0.5, grams_best: 0.5 })) }
  const judged = (read: readonly number[] | undefined): string =>
    judge('kb', question, replies, read ? DEFAULT_CHAT_READER_CALIBRATION : DEFAULT_CALIBRATION, read).decision
  expect([judged(undefined), judged([0.02, 0.03]), judged([0.02, 0.55])]).toEqual(['answer', 'abstain', 'answer'])
})
