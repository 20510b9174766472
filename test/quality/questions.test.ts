import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { readNaturalQuestions } from '#jobs/cli/evaluate/natural/questions.ts'
import type { Half } from '#jobs/cli/evaluate/natural/questions.ts'

const CORPORA = ['eu', 'cfpb', 'de', 'fr']
const FILES = CORPORA.map((corpus) => fileURLToPath(new URL(`./questions/${corpus}.jsonl`, import.meta.url)))
const read = (half?: Half): ReturnType<typeof readNaturalQuestions> =>
  readNaturalQuestions(FILES, half, new AbortController().signal)

test('sixty questions ask beyond the named provision, and none of them has a right passage', async () => {
  const questions = await read()
  expect(questions).toHaveLength(60)
  for (const { kind, label, relevant } of questions)
    expect([kind, label, relevant.size]).toEqual(['named-beyond', 'unanswerable', 0])
})

test('the halves for tuning and for reporting share no question and differ by at most one in each file', async () => {
  const halves = await Promise.all([read('tuning'), read('reporting')])
  const [tuning, reporting] = halves.map((half) => half.map(({ id }) => id))
  expect([...(tuning ?? []), ...(reporting ?? [])].toSorted()).toEqual((await read()).map(({ id }) => id).toSorted())
  for (const corpus of CORPORA) {
    const [left = 0, right = 0] = halves.map((half) => half.filter(({ id }) => id.startsWith(`${corpus}-`)).length)
    expect(Math.abs(left - right)).toBeLessThanOrEqual(1)
  }
})
