import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { calibrationSchema, logistic, modelProbability, probability } from '#core/domain/calibration.ts'
import type { Calibration } from '#core/domain/calibration.ts'

const calibration: Calibration = {
  features: ['top', 'covered'],
  means: [10, 0.5],
  scales: [4, 0.25],
  coefficients: [2, -1],
  intercept: 0.5,
  named: null,
  threshold: 0.6,
  target_risk: 0.05,
  folds: 5,
  curve: [
    [0.5, 0.02],
    [1, 0.4],
  ],
  auroc: 0.8,
  aurc: 0.1,
  ece: 0.03,
  coverage_at_target: 0.7,
  questions: 100,
  answerable: 60,
}

const model = { features: ['top'], means: [0], scales: [1], coefficients: [3], intercept: -1 }

describe('the probability of sufficient evidence', () => {
  test('is the logistic of the standardised features, summed with their coefficients', () => {
    // 0.5 + 2 * (12 - 10) / 4 - (1 - 0.5) / 0.25 = -0.5
    expect(probability(calibration, ['top', 'covered'], [12, 1])).toBeCloseTo(0.3775406687981454, 15)
    expect(modelProbability(calibration, [12, 1])).toBe(probability(calibration, ['top', 'covered'], [12, 1]))
  })

  test('counts a feature below its floor as the floor', () => {
    const floored = { ...calibration, floors: [10, null] }
    for (const [top, covered] of [
      [9, 0],
      [10, 1],
      [12, -1],
    ] as const)
      expect(modelProbability(floored, [top, covered])).toBe(
        modelProbability(calibration, [Math.max(10, top), covered]),
      )
  })

  test('finds features by name, whatever else was measured', () => {
    expect(probability(calibration, ['covered', 'length', 'top'], [1, 7, 12])).toBe(
      probability(calibration, ['top', 'covered'], [12, 1]),
    )
  })

  test('is refused for a feature that was not measured or is not a number', () => {
    expect(() => probability(calibration, ['top'], [12])).toThrow(RangeError)
    expect(() => probability(calibration, ['top', 'covered'], [12])).toThrow(RangeError)
    expect(() => probability(calibration, ['top', 'covered'], [Number.POSITIVE_INFINITY, 1])).toThrow(RangeError)
    expect(() => modelProbability(calibration, [12, 1, 1])).toThrow(RangeError)
  })

  test('lies in [0, 1] and rises with the logit for every finite number', () => {
    fc.assert(
      fc.property(
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        (a, b) => {
          const [lower, higher] = [logistic(Math.min(a, b)), logistic(Math.max(a, b))]
          expect(lower).toBeGreaterThanOrEqual(0)
          expect(higher).toBeLessThanOrEqual(1)
          expect(lower).toBeLessThanOrEqual(higher)
        },
      ),
    )
  })
})

describe('the model for lists with passages of a named provision', () => {
  const names = ['top', 'covered', 'named']
  const both: Calibration = { ...calibration, named: model }

  test('applies iff the feature "named" is 1', () => {
    expect(probability(both, names, [1, 0.5, 1])).toBe(logistic(3 - 1))
    expect(probability(both, names, [1, 0.5, 0])).toBe(probability(calibration, names, [1, 0.5, 0]))
  })

  test('is not missed where a calibration has none, nor where "named" was not measured', () => {
    expect(probability(calibration, names, [1, 0.5, 1])).toBe(probability(calibration, names, [1, 0.5, 0]))
    expect(probability(calibration, names.slice(0, 2), [1, 0.5])).toBe(probability(calibration, names, [1, 0.5, 0]))
  })
})

describe('a stored calibration', () => {
  test('comes back from JSON as it went in', () => {
    expect(calibrationSchema.parse(JSON.parse(JSON.stringify(calibration)))).toEqual(calibration)
  })

  test.each([
    ['lists of different length', { means: [10] }],
    ['floors of another length', { floors: [null] }],
    ['a feature named twice', { features: ['top', 'top'] }],
    ['a scale of zero', { scales: [4, 0] }],
    ['a threshold that no probability can have', { threshold: 1.01 }],
    ['a coefficient that is not finite', { coefficients: [2, Number.POSITIVE_INFINITY] }],
    ['a curve of more than fifty points', { curve: Array.from({ length: 51 }, () => [1, 0]) }],
    ['an unknown field', { note: '' }],
    ['nothing about named provisions', { named: undefined }],
    ['a model for named provisions with lists of different length', { named: { ...model, means: [] } }],
    ['a model for named provisions with a feature named twice', { named: { ...model, features: ['top', 'top'] } }],
  ])('is refused with %s', (_, change) => {
    expect(calibrationSchema.safeParse({ ...calibration, ...change }).success).toBe(false)
  })
})
