import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { modelProbability } from '#core/domain/calibration.ts'
import { fitLogisticRegression, predict } from '#jobs/evaluation/calibration/logistic-regression.ts'
import type { LabelledSample } from '#jobs/evaluation/calibration/logistic-regression.ts'
import {
  assignFolds,
  outOfFoldProbabilities,
  correctNamed,
  type CalibrationQuestion,
} from '#jobs/evaluation/calibration/fit.ts'
import { NAMED_BY_WORDS } from '#core/domain/default-calibration.ts'

/**
 * Sixty samples of two features and a constant, from a linear congruential generator so that another program can make
 * the same.
 */
function sixty(): readonly LabelledSample[] {
  let state = 7
  const next = (): number => {
    state = Number((BigInt(state) * 1_103_515_245n + 12_345n) % 2_147_483_648n)
    return state / 2_147_483_648
  }
  return Array.from({ length: 60 }, () => {
    const [a, b, c] = [next(), next(), next()]
    return { features: [a * 10, b - 5, 3], sufficient: a + 0.5 * b + 0.6 * c > 1.05 }
  })
}

describe('logistic regression', () => {
  // scikit-learn 1.2.1: LogisticRegression(C=1 / penalty, solver='newton-cholesky', tol=1e-12) on the standardised
  // samples.
  test.each([
    [
      1,
      [1.6473795143930727, 1.0838109516811474, 0],
      -0.23364166925777985,
      [0.489560974789648, 0.9496766888190672, 0.9902035707760636],
    ],
    [
      10,
      [0.7458944818528671, 0.48797286954197744, 0],
      -0.2193375947085981,
      [0.46727850388278497, 0.7706268425414081, 0.8778171256603825],
    ],
  ])('with a penalty of %d equals scikit-learn', (penalty, coefficients, intercept, probabilities) => {
    const model = fitLogisticRegression(sixty(), penalty)
    expect(model.means[0]).toBeCloseTo(4.770585418213159, 12)
    expect(model.scales).toEqual([expect.closeTo(2.679282860235061, 12), expect.closeTo(0.31373309812741895, 12), 1])
    for (const [at, coefficient] of coefficients.entries()) expect(model.coefficients[at]).toBeCloseTo(coefficient, 9)
    expect(model.intercept).toBeCloseTo(intercept, 9)
    for (const [at, expected] of probabilities.entries()) expect(predict(model, sixty())[at]).toBeCloseTo(expected, 9)
  })

  test('stays finite where a feature separates the samples, is repeated, or never varies', () => {
    const samples = Array.from({ length: 40 }, (_, at) => ({
      features: [at, at * 1e6, 5, at * 1e-9],
      sufficient: at >= 20,
    }))
    for (const penalty of [1, 1e-6]) {
      const model = fitLogisticRegression(samples, penalty)
      expect(model.coefficients.every(Number.isFinite)).toBe(true)
      expect(model.coefficients[2]).toBe(0)
      expect(model.coefficients[1]).toBeCloseTo(model.coefficients[0] ?? 0, 6)
      const probabilities = predict(model, samples)
      expect(Math.max(...probabilities.slice(0, 20))).toBeLessThan(0.5)
      expect(Math.min(...probabilities.slice(20))).toBeGreaterThan(0.5)
    }
  })

  test('predicts the rule of succession where all samples are of one kind', () => {
    const samples = Array.from({ length: 8 }, (_, at) => ({ features: [at], sufficient: true }))
    expect(modelProbability(fitLogisticRegression(samples, 1), [100])).toBeCloseTo(9 / 10, 14)
  })

  test('has no slope left at its minimum: the mean probability is the share of sufficient samples', () => {
    const sample = fc.record({
      features: fc.tuple(fc.double({ min: -1e3, max: 1e3, noNaN: true }), fc.integer({ min: 0, max: 3 })),
      sufficient: fc.boolean(),
    })
    fc.assert(
      fc.property(
        fc.array(sample, { minLength: 2, maxLength: 60 }),
        fc.constantFrom(1e-4, 1, 100),
        (samples, penalty) => {
          const sufficient = samples.filter((one) => one.sufficient).length
          fc.pre(sufficient > 0 && sufficient < samples.length)
          const probabilities = predict(fitLogisticRegression(samples, penalty), samples)
          expect(probabilities.reduce((sum, value) => sum + value, 0)).toBeCloseTo(sufficient, 6)
        },
      ),
    )
  })

  test('reaches its minimum where whole Newton steps overshoot', () => {
    const first = [1, 17, 27, 16, 4, 8, 29, 28, 3, 5]
    const second = [24, 23, 6, 21, 29, 8, 7, 3, 22, 4]
    const samples = first.map((value, at) => ({
      features: [value, second[at] ?? 0],
      sufficient: [5, 7, 9].includes(at),
    }))
    const probabilities = predict(fitLogisticRegression(samples, 1e-3), samples)
    expect(probabilities.reduce((sum, value) => sum + value, 0)).toBeCloseTo(3, 6)
  })

  test('lets no coefficient fall below 0 unless it may, and ends where no allowed step lowers the loss', () => {
    const sample = fc.record({
      features: fc.tuple(...Array.from({ length: 4 }, () => fc.double({ min: -5, max: 5, noNaN: true }))),
      sufficient: fc.boolean(),
    })
    const free = fc.array(fc.boolean(), { minLength: 4, maxLength: 4 })
    fc.assert(
      fc.property(fc.array(sample, { minLength: 4, maxLength: 40 }), free, (samples, mayFall) => {
        fc.pre(new Set(samples.map(({ sufficient }) => sufficient)).size === 2)
        const { coefficients, means, scales, ...rest } = fitLogisticRegression(samples, 1, mayFall)
        const probabilities = predict({ coefficients, means, scales, ...rest }, samples)
        for (const [at, coefficient] of coefficients.entries()) {
          const slope = samples.reduce((sum, { features, sufficient }, one) => {
            const standardised = ((features[at] ?? 0) - (means[at] ?? 0)) / (scales[at] ?? 1)
            return sum + ((probabilities[one] ?? 0) - Number(sufficient)) * standardised
          }, coefficient)
          expect(coefficient >= 0 || mayFall[at]).toBe(true)
          expect(coefficient === 0 && mayFall[at] !== true ? Math.min(0, slope) : slope).toBeCloseTo(0, 5)
        }
      }),
    )
  })

  test('refuses samples that cannot be fitted on', () => {
    expect(() => fitLogisticRegression([], 1)).toThrow(RangeError)
    expect(() => fitLogisticRegression([{ features: [Number.NaN], sufficient: true }], 1)).toThrow(RangeError)
    expect(() =>
      fitLogisticRegression(
        [
          { features: [1, 2], sufficient: true },
          { features: [1], sufficient: false },
        ],
        1,
      ),
    ).toThrow(RangeError)
  })
})

const keys = Array.from({ length: 103 }, (_, at) => `q${at}`)

describe('folds', () => {
  test('differ in size by one question at most', () => {
    const sizes = [0, 1, 2, 3, 4].map((fold) => assignFolds(keys, 5).filter((own) => own === fold).length)
    expect(sizes.toSorted((a, b) => a - b)).toEqual([20, 20, 21, 21, 21])
  })

  test('do not depend on the order of the questions and keep equal keys together', () => {
    const folds = assignFolds(keys, 5)
    expect(assignFolds(keys.toReversed(), 5).toReversed()).toEqual(folds)
    expect(assignFolds([...keys, ...keys], 5)).toEqual([...folds, ...folds])
  })

  test('are as many as there are groups where these are fewer', () => {
    expect(new Set(assignFolds(['a', 'b', 'b', 'a', 'c'], 5)).size).toBe(3)
  })
})

test('a probability out of fold comes from a model that never saw the fold', () => {
  const samples = Array.from({ length: 30 }, (_, at) => ({ features: [(at * 7) % 10], sufficient: (at * 5) % 9 > 3 }))
  const folds = samples.map((_, at) => at % 3)
  const probabilities = outOfFoldProbabilities(samples, folds, 1)
  for (const fold of [0, 1, 2]) {
    const model = fitLogisticRegression(
      samples.filter((_, at) => folds[at] !== fold),
      1,
    )
    expect(probabilities.filter((_, at) => folds[at] === fold)).toEqual(
      predict(
        model,
        samples.filter((_, at) => folds[at] === fold),
      ),
    )
  }
  const changed = samples.map((sample, at) => (at === 0 ? { ...sample, sufficient: !sample.sufficient } : sample))
  expect(outOfFoldProbabilities(changed, folds, 1)[0]).toBe(probabilities[0])
})

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
