import { modelLogOdds, modelProbability } from '#core/domain/calibration.ts'
import type { Calibration } from '#core/domain/calibration.ts'
import { assignFolds, outOfFoldProbabilities } from './folds.ts'
import { CALIBRATION_FOLDS, CALIBRATION_PENALTY, CALIBRATION_QUESTIONS_MIN } from './fit.ts'
import type { CalibrationQuestion } from './fit.ts'
import { fitLogisticRegression } from './logistic-regression.ts'

export type NamedModel = NonNullable<Calibration['named']>

export interface CorrectedNamed {
  readonly model: NamedModel
  /** Of each question, from a model that was corrected without it. */
  readonly probabilities: readonly number[]
}

/**
 * Corrects the model for lists of a named provision on labelled questions: their log-odds under it are the one feature
 * of a logistic regression (Platt 1999), so that few questions move level and slope and not the weights among its
 * features. It stays as it is with fewer than CALIBRATION_QUESTIONS_MIN questions of a kind, or where higher log-odds
 * would be worse.
 * @param questions with the features of the model.
 */
export function correctNamed(model: NamedModel, questions: readonly CalibrationQuestion[]): CorrectedNamed {
  const asItIs = { model, probabilities: questions.map(({ features }) => modelProbability(model, features)) }
  const sufficient = questions.filter((question) => question.sufficient).length
  const folds = assignFolds(
    questions.map(({ id, group }) => group ?? id),
    CALIBRATION_FOLDS,
  )
  if (Math.min(sufficient, questions.length - sufficient) < CALIBRATION_QUESTIONS_MIN || new Set(folds).size < 2)
    return asItIs
  const samples = questions.map((question) => ({ ...question, features: [modelLogOdds(model, question.features)] }))
  const {
    coefficients: [slope = 0],
    means: [mean = 0],
    scales: [scale = 1],
    intercept,
  } = fitLogisticRegression(samples, CALIBRATION_PENALTY)
  if (slope <= 0) return asItIs
  const corrected = {
    ...model,
    coefficients: model.coefficients.map((coefficient) => (coefficient * slope) / scale),
    intercept: intercept + ((model.intercept - mean) * slope) / scale,
  }
  return { model: corrected, probabilities: outOfFoldProbabilities(samples, folds, CALIBRATION_PENALTY) }
}
