import { CALIBRATION_CURVE_POINTS_MAX } from '#core/domain/calibration.ts'
import type { Calibration } from '#core/domain/calibration.ts'
import { aurc, auroc, expectedCalibrationError, riskCoverageCurve } from '#jobs/evaluate/metrics/abstention.ts'
import type { ScoredQuestion } from '#jobs/evaluate/metrics/abstention.ts'
import { dealFolds, outOfFoldProbabilities } from './folds.ts'
import { fitLogisticRegression } from './logistic-regression.ts'
import type { LabelledSample } from './logistic-regression.ts'
import { thresholdForTarget } from './target-threshold.ts'

const CALIBRATION_FOLDS = 5
const CALIBRATION_PENALTY = 1
/** Minimum for each kind of question; fewer cannot measure a risk of one in twenty. */
export const CALIBRATION_QUESTIONS_MIN = 20

export interface CalibrationQuestion extends LabelledSample {
  readonly id: string
  /**
   * Questions of one group stay in one fold, since they may share features that the model could memorise. Absent: each
   * question is its own group.
   */
  readonly group?: string | undefined
}

export interface CalibrationOptions {
  /** Names, in the order of every question's features. */
  readonly features: readonly string[]
  /** In [0, 1]. */
  readonly targetRisk: number
  readonly folds?: number
  readonly penalty?: number
}

export interface Fitted {
  readonly calibration: Calibration
  /** False: no threshold keeps the target on these questions, so almost nothing is answered. */
  readonly targetReached: boolean
  /** Cross-validation scores in the order of question ids; the figures are computed from them. */
  readonly outOfFold: readonly (ScoredQuestion & { readonly id: string })[]
}

/**
 * Fits the probability of sufficient evidence on a question set. Coefficients come from all questions. The threshold
 * and every figure come from cross-validation, so that no question is scored by a model fitted on it. The same
 * questions in any order give the same numbers.
 * @returns undefined when there are fewer than CALIBRATION_QUESTIONS_MIN questions with or without evidence, or only
 * one group.
 */
export function fitCalibration(
  questions: readonly CalibrationQuestion[],
  options: CalibrationOptions,
): Fitted | undefined {
  const { features, targetRisk, folds: foldsMax = CALIBRATION_FOLDS, penalty = CALIBRATION_PENALTY } = options
  const ordered = questions.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const answerable = ordered.filter((question) => question.sufficient).length
  if (Math.min(answerable, ordered.length - answerable) < CALIBRATION_QUESTIONS_MIN) return undefined
  const folds = dealFolds(
    ordered.map((question) => question.group ?? question.id),
    foldsMax,
  )
  const foldCount = new Set(folds).size
  if (foldCount < 2) return undefined
  const probabilities = outOfFoldProbabilities(ordered, folds, penalty)
  const outOfFold = ordered.map(({ id, sufficient }, at) => ({ id, sufficient, score: probabilities[at] ?? 0 }))
  const target = thresholdForTarget(outOfFold, targetRisk)
  const calibration: Calibration = {
    features,
    ...fitLogisticRegression(ordered, penalty),
    threshold: target.threshold,
    target_risk: targetRisk,
    folds: foldCount,
    curve: riskCoverageCurve(outOfFold, CALIBRATION_CURVE_POINTS_MAX),
    auroc: auroc(outOfFold) ?? null,
    aurc: aurc(outOfFold) ?? null,
    ece: expectedCalibrationError(outOfFold) ?? null,
    coverage_at_target: target.coverage,
    questions: ordered.length,
    answerable,
  }
  return { calibration, targetReached: target.reached, outOfFold }
}
