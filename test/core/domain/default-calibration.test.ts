import { describe, expect, test } from 'vitest'
import { calibrationSchema, probability } from '#core/domain/calibration.ts'
import { DEFAULT_CALIBRATION } from '#core/domain/default-calibration.ts'
import { PREDICTORS } from '#core/domain/predictors.ts'
import type { Predictor } from '#core/domain/predictors.ts'

const observed = (features: Partial<Record<Predictor, number>>): number =>
  probability(
    DEFAULT_CALIBRATION,
    PREDICTORS,
    PREDICTORS.map((name) => features[name] ?? 0),
  )
const EVERYTHING = { document_coverage: 1, window_coverage: 1, first_coverage: 1, near_pairs: 1, document_agreement: 1 }

describe('the decision of a version without a question set', () => {
  test('can be stored with a profile, and says that it was fitted elsewhere', () => {
    expect(calibrationSchema.parse(DEFAULT_CALIBRATION)).toEqual(DEFAULT_CALIBRATION)
    expect(DEFAULT_CALIBRATION).toMatchObject({
      folds: 0,
      questions: 0,
      auroc: null,
      ece: null,
      coverage_at_target: null,
    })
  })

  test('uses features that a search node measures', () => {
    expect(PREDICTORS).toEqual(expect.arrayContaining([...DEFAULT_CALIBRATION.features]))
  })

  test('abstains where nothing speaks for the list and answers where everything does', () => {
    expect(observed({})).toBeLessThan(0.05)
    expect(observed(EVERYTHING)).toBeGreaterThan(0.99)
    expect(DEFAULT_CALIBRATION.threshold).toBeGreaterThan(observed({}))
  })

  test('holds every one of its features for a point in favour', () => {
    for (const name of Object.keys(EVERYTHING)) expect(observed({ [name]: 1 })).toBeGreaterThan(observed({}))
  })

  test('never answers on account of one feature alone', () => {
    for (const name of Object.keys(EVERYTHING))
      expect(observed({ [name]: 1 })).toBeLessThan(DEFAULT_CALIBRATION.threshold)
  })
})

describe('the features of a list', () => {
  test('have names of their own, in an order that is part of the wire format', () => {
    expect(new Set(PREDICTORS).size).toBe(PREDICTORS.length)
    expect(PREDICTORS).toEqual([
      'document_coverage',
      'document_share',
      'document_agreement',
      'adjacent_pairs',
      'near_pairs',
      'content_share',
      'mean_idf',
      'idf_deviation',
      'first_length',
      'first_coverage',
      'fused_top',
      'first_focus',
      'window_coverage',
      'rank_overlap',
      'word_stability',
    ])
  })
})
