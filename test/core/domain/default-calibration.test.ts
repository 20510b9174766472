import { describe, expect, test } from 'vitest'
import { calibrationSchema, probability, type Calibration } from '#core/domain/calibration.ts'
import { DEFAULT_CALIBRATION, DEFAULT_MODEL_CALIBRATION } from '#core/domain/default-calibration.ts'
import { PREDICTORS, type Predictor } from '#core/domain/predictors.ts'

type Features = Partial<Record<Predictor, number>>

const observedBy = (calibration: Calibration, features: Features): number =>
  probability(
    calibration,
    PREDICTORS,
    PREDICTORS.map((name) => features[name] ?? 0),
  )
/** The first passages hold no word of the question, which is less than the background. */
const NOTHING: Features = { words_best: -0.5, grams_best: -0.5, grams_mass: -0.4, document_share: -0.2 }
/** The first passages hold every word of the question, and have a z-score of ten. */
const EVERYTHING: Features = {
  words_best: 0.5,
  grams_best: 0.5,
  grams_mass: 0.2,
  document_share: 0.5,
  first_coverage: 1,
  nearest_vector: 0.4,
}

describe.each([
  ['words alone', DEFAULT_CALIBRATION],
  ['a model', DEFAULT_MODEL_CALIBRATION],
])('the decision of a version of %s without a question set', (_name, calibration) => {
  const observed = (features: Features): number => observedBy(calibration, features)

  test('can be stored with a profile, and says that it was fitted elsewhere', () => {
    expect(calibrationSchema.parse(calibration)).toEqual(calibration)
    expect(calibration).toMatchObject({ folds: 0, questions: 0, auroc: null, ece: null, coverage_at_target: null })
  })

  test('uses features that a search node measures', () => {
    expect(PREDICTORS).toEqual(expect.arrayContaining([...calibration.features]))
  })

  test('abstains where nothing speaks for the list and answers where everything does', () => {
    expect(observed(NOTHING)).toBeLessThan(0.05)
    expect(observed(EVERYTHING)).toBeGreaterThan(0.95)
    expect(calibration.threshold).toBeGreaterThan(observed(NOTHING))
    expect(calibration.threshold).toBeLessThan(observed(EVERYTHING))
  })

  test('holds every one of its features for a point in favour', () => {
    for (const name of calibration.features)
      expect(observed({ ...NOTHING, [name]: 0.5 })).toBeGreaterThan(observed(NOTHING))
  })

  test('does not answer a list that holds of the question what the background holds', () => {
    expect(observed({})).toBeLessThan(calibration.threshold)
  })

  test('answers a question that asks for a provision alone, and not one that asks only what it lacks', () => {
    const lacking = { ...EVERYTHING, named: 1, named_missing: 20 }
    expect(observed({ named: 1 })).toBeGreaterThan(0.95)
    expect(observed(lacking)).toBeLessThan(0.2)
    expect(observed(lacking)).toBeLessThan(calibration.threshold)
  })
})

describe('the decision on a named provision', () => {
  const observed = (features: Features): number => observedBy(DEFAULT_CALIBRATION, { named: 1, ...features })
  const { threshold } = DEFAULT_CALIBRATION

  test('weighs alike by words and by a model, has one threshold, and differs by less than two missing words', () => {
    const [ofWords, ofModel] = [DEFAULT_CALIBRATION.named, DEFAULT_MODEL_CALIBRATION.named]
    expect({ ...ofModel, intercept: ofWords?.intercept }).toEqual(ofWords)
    expect(DEFAULT_MODEL_CALIBRATION.threshold).toBe(threshold)
    const twoWords = { named: 1, named_missing: 2 }
    expect(observedBy(DEFAULT_CALIBRATION, twoWords)).toBeLessThan(observedBy(DEFAULT_MODEL_CALIBRATION, { named: 1 }))
  })

  test('falls with each word that the provision lacks, and where its document says more elsewhere', () => {
    expect(observed({ named_missing: 6 })).toBeLessThan(observed({}))
    expect(observed({ named_missing: 12 })).toBeLessThan(observed({ named_missing: 6 }))
    expect(observed({ named_missing: 6, named_elsewhere: 1 })).toBeLessThan(observed({ named_missing: 6 }))
  })

  test('is decided by vectors where one rare word is missing: near passages outside speak against an answer', () => {
    const lacking = { named_missing: 9, named_elsewhere: 0.2 }
    expect(observed({ ...lacking, named_margin: 0 })).toBeGreaterThan(threshold)
    expect(observed({ ...lacking, named_margin: -0.1 })).toBeLessThan(threshold)
  })
})

describe('the features of a list', () => {
  test('have names of their own, in an order that is part of the wire format', () => {
    expect(new Set(PREDICTORS).size).toBe(PREDICTORS.length)
    expect(PREDICTORS).toEqual([
      'document_share',
      'document_agreement',
      'near_pairs',
      'content_share',
      'mean_idf',
      'idf_deviation',
      'first_length',
      'first_coverage',
      'words_best',
      'grams_best',
      'grams_mass',
      'named',
      'nearest_vector',
      'named_missing',
      'named_elsewhere',
      'named_margin',
      'search_questions_only',
    ])
  })
})
