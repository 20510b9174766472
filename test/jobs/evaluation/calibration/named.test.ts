import { expect, test } from 'vitest'
import { modelProbability } from '#core/domain/calibration.ts'
import { NAMED_BY_WORDS } from '#core/domain/default-calibration.ts'
import { correctNamed } from '#jobs/evaluation/calibration/fit.ts'
import type { CalibrationQuestion } from '#jobs/evaluation/calibration/fit.ts'

/** Questions of a corpus in which provisions lack `more` of what is asked, whether or not they answer. */
function questionsOf(count: number, more: number): readonly CalibrationQuestion[] {
  return Array.from({ length: count }, (_, at) => {
    const sufficient = at % 2 === 0
    return {
      id: `q${String(at).padStart(3, '0')}`,
      sufficient,
      features: [more + (at % 7) + (sufficient ? 0 : 5), 0, 0],
    }
  })
}

function answeredOf(questions: readonly CalibrationQuestion[], scores: readonly number[], sufficient: boolean): number {
  return questions.filter((question, at) => question.sufficient === sufficient && (scores[at] ?? 0) >= 0.5).length
}

test('a question set moves the model of named provisions to the level of its corpus', () => {
  const questions = questionsOf(80, 12)
  const before = questions.map(({ features }) => modelProbability(NAMED_BY_WORDS, features))
  expect(answeredOf(questions, before, true)).toBeLessThan(25)
  const { model, probabilities } = correctNamed(NAMED_BY_WORDS, questions)
  expect(answeredOf(questions, probabilities, true)).toBeGreaterThan(30)
  expect(answeredOf(questions, probabilities, false)).toBeLessThan(10)
  const after = questions.map(({ features }) => modelProbability(model, features))
  for (const [at, probability] of probabilities.entries())
    expect(Math.abs(probability - (after[at] ?? 0))).toBeLessThan(0.15)
})

test('the weights among its features keep their proportions', () => {
  const { coefficients } = correctNamed(NAMED_BY_WORDS, questionsOf(80, 12)).model
  const [missing = 0, elsewhere = 0, margin = 0] = coefficients
  expect([elsewhere / missing, margin / missing]).toEqual([
    expect.closeTo(3.6 / 0.66, 9),
    expect.closeTo(26.2 / -0.66, 9),
  ])
})

test.each([
  ['fewer than twenty of a kind', questionsOf(38, 10)],
  [
    'labels that contradict it',
    questionsOf(80, 0).map((question) => ({ ...question, sufficient: !question.sufficient })),
  ],
])('%s leave it as it is', (_, questions) => {
  const { model, probabilities } = correctNamed(NAMED_BY_WORDS, questions)
  expect(model).toBe(NAMED_BY_WORDS)
  expect(probabilities).toEqual(questions.map(({ features }) => modelProbability(NAMED_BY_WORDS, features)))
})
