import type { Calibration } from './calibration.ts'

/**
 * The model for lists with passages of a named provision; see decision 0026. A question that asks for nothing but the
 * provision gets 0.9999. What the provision lacks, and what its document says elsewhere, speaks against an answer. The
 * intercept answers one in six of the tuning questions that ask what a named provision does not say.
 */
export const NAMED_MODEL: NonNullable<Calibration['named']> = {
  features: ['named_missing', 'named_elsewhere', 'named_margin'],
  means: [0, 0, 0],
  scales: [1, 1, 1],
  coefficients: [-0.66, -3.6, 26.2],
  intercept: 9.15,
}

/**
 * For versions without the vectors of a model, where margins are lower. It answers 65 of 67 questions of one writer that
 * name their provision and 35 of 37 of the tuning half of `test/quality/questions`; decision 0048 reports others.
 */
export const NAMED_BY_WORDS: typeof NAMED_MODEL = { ...NAMED_MODEL, intercept: 8 }

const NOT_MEASURED = {
  target_risk: 0.05,
  folds: 0,
  curve: [],
  auroc: null,
  aurc: null,
  ece: null,
  coverage_at_target: null,
  questions: 0,
  answerable: 0,
} as const

/**
 * Default decision of a version without the vectors of a model: what the first passages hold beyond chance in the
 * version. Fitted on the natural questions of one writer about four corpora and about parts of 10, 100 and 300 passages
 * of them; decision 0048 reports another writer's.
 */
export const DEFAULT_CALIBRATION: Calibration = {
  features: ['words_best', 'grams_best', 'grams_mass', 'document_share'],
  means: [0, 0, 0, 0],
  scales: [1, 1, 1, 1],
  coefficients: [3.4, 8.6, 6.1, 2.9],
  intercept: -0.15,
  named: NAMED_BY_WORDS,
  threshold: 0.715,
  ...NOT_MEASURED,
}

/** Default decision of a version with the vectors of a model. */
export const DEFAULT_MODEL_CALIBRATION: Calibration = {
  features: ['fused_best', 'nearest_vector'],
  means: [0, 0],
  scales: [1, 1],
  coefficients: [5.53, 11.13],
  intercept: -4.38,
  named: NAMED_MODEL,
  threshold: 0.715,
  ...NOT_MEASURED,
}

/**
 * Default decision where a chat model reads. Its number is a probability by its instructions: at 50 of 100 the service
 * answers.
 */
export const DEFAULT_CHAT_READER_CALIBRATION: Calibration = {
  features: ['reader_best'],
  means: [0],
  scales: [1],
  coefficients: [10],
  intercept: -5,
  named: null,
  threshold: 0.5,
  ...NOT_MEASURED,
}
