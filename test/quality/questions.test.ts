import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { readFieldQuestions, type Half } from '#operator/evaluate/field-questions/questions.ts'

const CORPORA = ['eu', 'cfpb', 'de', 'fr']
const FILES = CORPORA.flatMap((corpus) => [corpus, `${corpus}-keywords`, `${corpus}-provisions`]).map((name) =>
  fileURLToPath(new URL(`./questions/${name}.jsonl`, import.meta.url)),
)
const read = (half?: Half, files = FILES): ReturnType<typeof readFieldQuestions> =>
  readFieldQuestions({ questions: files, tuning: [] }, half, new AbortController().signal)

test('199 questions ask beyond the named provision and have no right passage, 140 others have one', async () => {
  const questions = await read()
  const ofKind = (kind: string): typeof questions => questions.filter((question) => question.kind === kind)
  expect([ofKind('named-beyond').length, ofKind('named').length, questions.length]).toEqual([199, 140, 339])
  for (const { label, relevant } of ofKind('named-beyond')) expect([label, relevant.size]).toEqual(['unanswerable', 0])
  for (const { id, label, relevant } of ofKind('named')) {
    expect(label).toBe('answerable')
    expect(relevant.size, id).toBeGreaterThan(0)
  }
})

test('the halves for tuning and for reporting share no question and differ by at most one in each file', async () => {
  for (const file of FILES) {
    const idsOf = async (half?: Half): Promise<readonly string[]> => (await read(half, [file])).map(({ id }) => id)
    const [tuning, reporting, all] = await Promise.all([idsOf('tuning'), idsOf('reporting'), idsOf()])
    expect([...tuning, ...reporting].toSorted()).toEqual(all.toSorted())
    expect(Math.abs(tuning.length - reporting.length)).toBeLessThanOrEqual(1)
  }
})

test('where the questions that tuned are named, all others are of the reporting half', async () => {
  const [tuned = '', ...others] = FILES
  const asked = await readFieldQuestions(
    { questions: others, tuning: [tuned] },
    undefined,
    new AbortController().signal,
  )
  const [first = asked[0]] = await read(undefined, [tuned])
  expect(asked.find(({ id }) => id === first?.id)?.half).toBe('tuning')
  expect(asked.filter(({ half }) => half === 'reporting')).toHaveLength((await read(undefined, others)).length)
})
