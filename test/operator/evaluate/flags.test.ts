import { expect, test, vi } from 'vitest'
import { evaluateFlags, usageExitCode } from '#operator/evaluate/flags.ts'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DEFAULT_CHAT_READER_CALIBRATION, DEFAULT_CALIBRATION } from '#core/domain/default-calibration.ts'
import { judge } from '#operator/evaluate/field-questions/judge.ts'
import type { FieldQuestion } from '#operator/evaluate/field-questions/questions.ts'
import { openFlaggedReader } from '#operator/evaluate/reader.ts'
import { found, measured, replyWith } from '#test/support/evaluation.ts'
import { folderOfFile } from '#test/support/folder.ts'

test('the folder alone is enough; the target risk is one in twenty', () => {
  expect(evaluateFlags(['./rules'])).toEqual({ folder: './rules', targetRisk: 0.05 })
})

test('every flag reaches the evaluation', () => {
  const named = '--queries q --qrels r --answerability a --fit-queries fq --fit-qrels fr --limit-to contract'
  const args = `d ${named} --search-questions s --json j --html h --target-risk 0.1 --data-dir t`
  expect(evaluateFlags(args.split(' '))).toEqual({
    folder: 'd',
    queries: 'q',
    qrels: 'r',
    answerability: 'a',
    fitQueries: 'fq',
    fitQrels: 'fr',
    limitTo: 'contract',
    searchQuestions: 's',
    json: 'j',
    html: 'h',
    targetRisk: 0.1,
    dataDir: 't',
  })
})

const setsOf = (args: string): unknown => {
  const flags = evaluateFlags(args.split(' '))
  return 'sets' in flags ? flags.sets : undefined
}

test('questions, mapping and search questions belong to the corpus before them', () => {
  const eu = '--corpus eu --questions a --questions b --search-questions s'
  expect(setsOf(`${eu} --corpus own --mapping m --questions c --tuning t`)).toEqual([
    { corpus: 'eu', questions: ['a', 'b'], tuning: [], searchQuestions: 's' },
    { corpus: 'own', questions: ['c'], tuning: ['t'], mapping: 'm' },
  ])
})

test('with one corpus, the order of the options has no meaning', () => {
  const expected = [{ corpus: 'eu', questions: ['a'], tuning: [], mapping: 'm' }]
  expect(setsOf('--questions a --mapping m --corpus eu')).toEqual(expected)
  expect(setsOf('--corpus eu --mapping m --questions a')).toEqual(expected)
})

test.each([
  ['', /^error: name the folder of a data set, or --corpus FOLDER and --questions FILE\./],
  ['a b', /^error: too many arguments/],
  ['a --target-risk 0', /^error: .*must be a share/],
  ['a --target-risk 5%', /^error: .*must be a share/],
  ['a --limit-to {x}', /^error: .*must be the name of a metadata field/],
  ['a --unknown', /^error: unknown option/],
  ['a --corpus eu --questions q', /^error: --corpus is for field questions/],
  ['a --half tuning', /^error: --half is for field questions/],
  ['--corpus eu --questions q --qrels r', /^error: --qrels is for the folder of a data set/],
  ['--questions a', /--corpus FOLDER/],
  ['--corpus eu', /name the questions for eu with --questions/],
  ['--corpus eu --questions a --corpus de', /name the questions for de with --questions/],
  ['--questions a --corpus eu --corpus de --questions b', /after the --corpus it is for/],
  ['--corpus eu --questions a --mapping m --mapping n', /name one --mapping for eu/],
  ['--corpus eu --questions a --search-questions s --search-questions t', /name one --search-questions for eu/],
  ['--corpus eu --questions a --rewritings b --rewriter http://a/v1', /--rewriter writes what --rewritings has/],
  ['a --rewriter b.jsonl', /^error: .*must be an http or https URL/],
])('arguments that say nothing sensible are not understood: %s', (args, sentence) => {
  const words = args === '' ? [] : args.split(' ')
  expect(exitCodeOf(words)).toEqual({ code: 2, said: expect.stringMatching(sentence) })
})

test('help is no error', () => {
  expect(exitCodeOf(['--help']).code).toBe(0)
})

function exitCodeOf(args: readonly string[]): { readonly code: number | undefined; readonly said: string } {
  const said: string[] = []
  const keep = (text: unknown): boolean => said.push(String(text)) > 0
  const spies = [
    vi.spyOn(process.stderr, 'write').mockImplementation(keep),
    vi.spyOn(process.stdout, 'write').mockImplementation(keep),
  ]
  try {
    evaluateFlags(args)
    return { code: undefined, said: said.join('') }
  } catch (error) {
    return { code: usageExitCode(error), said: said.join('') }
  } finally {
    for (const spy of spies) spy.mockRestore()
  }
}

const folder = folderOfFile()

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
