import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Calibration } from '#core/domain/calibration.ts'
import { decideOn } from '#core/domain/decision.ts'
import { DEFAULT_CALIBRATION, NEAREST_LEVEL } from '#core/domain/default-calibration.ts'
import { PREDICTORS, predictorOf, type Predictor } from '#core/domain/predictors.ts'

/** @param others predictors that `features` does not name; absent: 0. */
function list(features: Partial<Record<Predictor, number>>, others: readonly number[] = []): readonly number[] {
  return PREDICTORS.map((name, at) => features[name] ?? others[at] ?? 0)
}

const decide = (
  calibration: Calibration,
  predictors: readonly number[],
  read?: readonly number[],
): ReturnType<typeof decideOn> => decideOn(calibration, { passages: { length: 5 }, predictors, unsupported: [], read })

/** A calibration that is sure of an answer, whatever the list holds. */
const sure = (...features: readonly string[]): Calibration => ({
  ...DEFAULT_CALIBRATION,
  features,
  means: features.map(() => 0),
  scales: features.map(() => 1),
  coefficients: features.map(() => 0),
  intercept: 60,
  named: null,
})

const value = fc.double({ min: -1, max: 1, noNaN: true })
const weight = fc.double({ min: -100, max: 100, noNaN: true })

const calibration = fc
  .record({
    weighed: fc.uniqueArray(
      fc.record({ name: fc.constantFrom(...PREDICTORS), mean: weight, weight, floor: fc.option(value) }),
      { minLength: 1, selector: ({ name }) => name },
    ),
    scale: fc.double({ min: 1e-3, max: 10, noNaN: true }),
    intercept: weight,
    threshold: fc.double({ min: 1e-9, max: 1, noNaN: true }),
  })
  .map(({ weighed, scale, intercept, threshold }): Calibration => ({
    ...DEFAULT_CALIBRATION,
    features: weighed.map(({ name }) => name),
    means: weighed.map(({ mean }) => mean),
    scales: weighed.map(() => scale),
    coefficients: weighed.map((each) => each.weight),
    floors: weighed.map(({ floor }) => floor),
    intercept,
    threshold,
  }))
const others = fc.array(value, { minLength: PREDICTORS.length, maxLength: PREDICTORS.length })

test('a list without evidence above the background is not answered, and its value shows it, whatever was fitted', () => {
  fc.assert(
    fc.property(calibration, others, (fitted, drawn) => {
      const level = fitted.floors?.[fitted.features.indexOf('nearest_vector')] ?? NEAREST_LEVEL
      const held = Math.abs(predictorOf(drawn, 'grams_best') ?? 0) + Math.abs(predictorOf(drawn, 'grams_mass') ?? 0)
      const nearest_vector = Math.min(predictorOf(drawn, 'nearest_vector') ?? 0, level)
      const { decision, observedValue } = decide(
        fitted,
        list({ named: 0, nearest_vector, words_best: -held - 0.01 }, drawn),
      )
      expect(decision).toBe('abstain')
      expect(observedValue).toBeLessThan(fitted.threshold)
    }),
  )
})

test('a threshold of 0, which no fit gives, answers every list', () => {
  expect(decide({ ...sure('content_share'), threshold: 0 }, list({ words_best: -1 })).decision).toBe('answer')
})

test('a list with evidence has the probability of its calibration', () => {
  fc.assert(
    fc.property(others, (drawn) => {
      const { decision, observedValue } = decide(sure('content_share'), list({ words_best: 0.1 }, drawn.map(Math.abs)))
      expect([decision, observedValue]).toEqual(['answer', 1])
    }),
  )
})

describe('evidence', () => {
  const byVectors: Calibration = { ...sure('nearest_vector'), floors: [0.3] }

  test.each<[string, Calibration, Partial<Record<Predictor, number>>]>([
    ['words above the background', sure('content_share'), { words_best: 0.1, grams_best: -0.05 }],
    ['character n-grams above the background', sure('content_share'), { words_best: -0.05, grams_mass: 0.1 }],
    ['a named provision', sure('content_share'), { named: 1, words_best: -1 }],
    ['a passage nearer than the background of the version', byVectors, { nearest_vector: 0.31, words_best: -1 }],
  ])('is %s', (_, fitted, features) => {
    expect(decide(fitted, list(features)).decision).toBe('answer')
  })

  test.each<[string, Calibration, Partial<Record<Predictor, number>>]>([
    ['a word more and fewer n-grams', sure('content_share'), { words_best: 0.1, grams_best: -0.2 }],
    ['a passage as near as to questions that nothing answers', byVectors, { nearest_vector: 0.3 }],
    ['a passage nearer than that of other versions', sure('nearest_vector'), { nearest_vector: NEAREST_LEVEL }],
    ['nearness that the calibration does not weigh', sure('content_share'), { nearest_vector: 5 }],
    ['exactly what any question finds', sure('content_share'), {}],
    ['the shape of the question', sure('content_share'), { content_share: 1, mean_idf: 1, document_share: 1 }],
  ])('is not %s', (_, fitted, features) => {
    expect(decide(fitted, list(features)).decision).toBe('abstain')
  })

  test('is what a reader found, whatever the words say', () => {
    expect(decide(sure('reader_best'), list({ words_best: -1 }), [0.9]).decision).toBe('answer')
  })
})
