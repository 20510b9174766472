import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { decisionOf } from '#jobs/evaluation/decision.ts'
import { outcomeOf } from '#jobs/evaluation/outcomes.ts'
import { asking, measured, queryWithQrels, replyWith } from '#test/support/evaluation.ts'
import { testPassage } from '#test/support/passages.ts'

const ITEMS = Array.from({ length: 30 }, (_, n) => ({ text: `any anchor${n} ballast${n} cargo${n}` }))
const QUESTIONS = Array.from({ length: 80 }, (_, at) => queryWithQrels(`q${at}`, { answerable: at % 2 === 0 }))
const OUTCOMES = QUESTIONS.map((question, at) =>
  outcomeOf(question, replyWith(['any'], measured({ first_coverage: (at % 2 === 0 ? 0.6 : 0) + at / 200 }))),
)

/** The decision of a version in which a drawn text finds a passage that holds so much of it. @returns texts too. */
async function decided(coverageOf: (text: string) => number, questions = QUESTIONS) {
  const { context, asked } = asking(({ text }) => replyWith(['any'], measured({ first_coverage: coverageOf(text) })))
  const options = { targetRisk: 0.05, embedding: 'none' } as const
  const decision = await decisionOf(questions, OUTCOMES, options, ITEMS, context)
  return { decision, texts: asked.map(({ text }) => text) }
}
const isOfVersion = (text: string): boolean => /^(anchor|ballast|cargo)/.test(text)

test('a fitted decision is kept that answers at most one in a hundred of the texts drawn at random', async () => {
  const { decision, texts } = await decided((text) => (text === 'Jak ugotować zupę pomidorową?' ? 1 : 0))
  expect(decision).toMatchObject({ isFitted: true, calibration: { questions: 80 } })
  expect(decision.refused).toBeUndefined()
  expect(texts.length).toBeGreaterThan(190)
})

test('one that answers more gives way to the default, which scores the questions', async () => {
  const { decision, texts } = await decided((text) => (isOfVersion(text) ? 1 : 0))
  const refused = { drawn: texts.length, answered: texts.filter(isOfVersion).length }
  expect(decision).toMatchObject({ isFitted: false, calibration: { folds: 0 }, scored: { length: 80 }, refused })
})

test('so does one that answers questions without their passages, equal texts and other revisions of these', async () => {
  const passage = testPassage(0)
  const held = QUESTIONS.flatMap(({ id }) => [
    { ...passage, source_id: `${id}-answer`, provision: `prv ${id}`, text: `Held for ${id}.` },
    { ...passage, source_id: `${id}-earlier`, provision: `prv ${id}` },
    { ...passage, source_id: `${id}-copy`, text: `Held for ${id}.` },
  ])
  const left: string[] = []
  const { context } = asking(({ text, onlyRows }) => {
    const out = held.flatMap(({ source_id: id }, row) => (((onlyRows?.[row >> 3] ?? 255) >> (row & 7)) & 1 ? [] : [id]))
    if (onlyRows !== undefined) left.push(`${text} ${out.join(' ')}`)
    return replyWith(['any'], measured({ first_coverage: onlyRows === undefined ? 0 : 1 }))
  })
  const options = { targetRisk: 0.05, embedding: 'none', passages: () => Readable.from(held) } as const
  const { isFitted, refused } = await decisionOf(QUESTIONS, OUTCOMES, options, ITEMS, context)
  expect(isFitted).toBe(false)
  expect(refused).toEqual({ drawn: 40, answered: 40, masked: true })
  const answerable = QUESTIONS.filter((question) => question.answerable === true)
  const expected = answerable.map(({ id, text }) => `${text} ${id}-answer ${id}-earlier ${id}-copy`)
  expect(left.toSorted()).toEqual(expected.toSorted())
})

test('with too few labels it is the default, against which nothing is drawn', async () => {
  const few = await decided(() => 1, QUESTIONS.slice(0, 39))
  expect(few).toMatchObject({ decision: { calibration: { folds: 0 }, scored: { length: 39 } }, texts: [] })
  const unlabelled = QUESTIONS.map((question) => ({ ...question, answerable: undefined }))
  expect((await decided(() => 1, unlabelled)).decision).toMatchObject({ scored: [], isFitted: false })
})

test('texts are words of several scripts, long ones, and words of the version of which no passage holds two', async () => {
  const { texts } = await decided(() => 0)
  for (const script of [/^[a-z ]+$/, /\p{Script=Cyrillic}/u, /\p{Script=Hebrew}/u, /^\S{100,}$/])
    expect(texts.some((text) => script.test(text))).toBe(true)
  const ofVersion = texts.filter(isOfVersion)
  expect(ofVersion.length).toBeGreaterThan(20)
  expect(ofVersion.join(' ')).not.toContain('any')
  expect((await decided(() => 0)).texts.toSorted()).toEqual(texts.toSorted())
})
