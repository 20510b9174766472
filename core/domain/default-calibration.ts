import type { Calibration } from './calibration.ts'

/**
 * The model for lists with passages of a named provision; see decision 0048. A question that asks for nothing but the
 * provision gets 0.9998. What the provision lacks, and what its document says elsewhere, speaks against an answer. The
 * intercept answers one in six of the tuning questions that ask what a named provision does not say.
 */
export const NAMED_MODEL: NonNullable<Calibration['named']> = {
  features: ['named_missing', 'named_elsewhere', 'named_margin'],
  means: [0, 0, 0],
  scales: [1, 1, 1],
  coefficients: [-0.66, -3.6, 26.2],
  intercept: 8.6,
}

/**
 * For versions without the vectors of a model, where margins are lower. It answers 65 of 67 questions of one writer that
 * name their provision and 35 of 37 of the tuning half of `test/quality/questions`; decision 0048 reports others.
 */
export const NAMED_BY_WORDS: typeof NAMED_MODEL = { ...NAMED_MODEL, intercept: 8 }

/** A score of the nearest passage, where the version's own level is not known; see `search-node/search/fuse.ts`. */
export const NEAREST_LEVEL = 0.21

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
 * Default decision of a version without the vectors of a model: what the first passages hold above the background of
 * the version. Fitted on the field questions of one writer about four corpora and about parts of 10, 100 and 300
 * passages of them; the intercept answers one in seventeen of that writer's near misses. Decision 0048 reports another
 * writer's.
 */
export const DEFAULT_CALIBRATION: Calibration = {
  features: ['words_best', 'grams_best', 'grams_mass', 'document_share'],
  means: [0, 0, 0, 0],
  scales: [1, 1, 1, 1],
  coefficients: [3.4, 8.6, 6.1, 2.9],
  intercept: -0.3,
  named: NAMED_BY_WORDS,
  threshold: 0.715,
  ...NOT_MEASURED,
}

/**
 * Default decision of a version with the vectors of a model: what the words say, and how much nearer than to questions
 * without an answer the nearest passage is. That level belongs to model and version: a build puts the version's own in its
 * place (`jobs/evaluation/negatives.ts`); this one is of four versions with multilingual-e5-small. Level and weight
 * were chosen on questions of both writers, with that model and averaged word vectors; see decision 0048.
 */
export const DEFAULT_MODEL_CALIBRATION: Calibration = {
  ...DEFAULT_CALIBRATION,
  features: [...DEFAULT_CALIBRATION.features, 'nearest_vector'],
  means: [...DEFAULT_CALIBRATION.means, NEAREST_LEVEL],
  scales: [...DEFAULT_CALIBRATION.scales, 0.022],
  coefficients: [...DEFAULT_CALIBRATION.coefficients, 1.2],
  intercept: -0.35,
  floors: [...DEFAULT_CALIBRATION.features.map(() => null), NEAREST_LEVEL],
  named: NAMED_MODEL,
}

/** Another threshold for a calibration whose model of named provisions keeps its own level: it decides as before. */
export function namedAt({ named, threshold: from }: Pick<Calibration, 'named' | 'threshold'>, threshold: number) {
  const shift = Math.log(threshold / (1 - threshold)) - Math.log(from / (1 - from))
  return { named: named && { ...named, intercept: named.intercept + shift }, threshold }
}

/**
 * Default decision on a list that a rewriter's queries found in a version without the vectors of a model: the same
 * predictors, of the queries instead of the question, and the length of the first passage: a short one holds few words
 * by chance. Fitted on field questions of two writers about four corpora; decision 0062 reports each from a fit on the
 * other.
 */
export const DEFAULT_REWRITTEN_CALIBRATION: Calibration = {
  ...DEFAULT_CALIBRATION,
  features: [...DEFAULT_CALIBRATION.features, 'first_length'],
  means: [...DEFAULT_CALIBRATION.means, 4.1],
  scales: [...DEFAULT_CALIBRATION.scales, 1],
  coefficients: [8, 9, 4.1, 2.3, -1.9],
  intercept: -2.2,
  ...namedAt(DEFAULT_CALIBRATION, 0.32),
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
