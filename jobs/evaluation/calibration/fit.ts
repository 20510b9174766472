import { CALIBRATION_CURVE_POINTS_MAX } from '#core/domain/calibration.ts'
import type { Calibration } from '#core/domain/calibration.ts'
import { WITHOUT_EVIDENCE_MAX } from '#core/domain/decision.ts'
import { DESCRIPTIVE_PREDICTORS } from '#core/domain/predictors.ts'
import { aurc, auroc, expectedCalibrationError, riskCoverageCurve } from '#jobs/evaluation/metrics/abstention.ts'
import type { ScoredQuestion } from '#jobs/evaluation/metrics/abstention.ts'
import { assignFolds, outOfFoldProbabilities } from './folds.ts'
import { fitLogisticRegression } from './logistic-regression.ts'
import type { LabelledSample } from './logistic-regression.ts'
import { thresholdForTarget } from './target-threshold.ts'

/** A low margin may say that several passages hold the answer, or that none does. */
const OF_ANY_SIGN: readonly string[] = [...DESCRIPTIVE_PREDICTORS, 'reader_margin']
export const CALIBRATION_FOLDS = 5
export const CALIBRATION_PENALTY = 1
/** Minimum of fitted questions of each kind; fewer cannot measure a risk of one in twenty. */
export const CALIBRATION_QUESTIONS_MIN = 20

export interface CalibrationQuestion extends LabelledSample {
  readonly id: string
  /**
   * Questions of one group stay in one fold, since they may share features that the model could memorise. Absent: each
   * question is its own group.
   */
  readonly group?: string | undefined
  /** The probability of another model. It counts, and the question is not fitted. */
  readonly given?: number | undefined
  /** False: the list is without evidence and not answered (`hasEvidence`). */
  readonly isEvident?: boolean
}

export interface CalibrationOptions {
  /** Names, in the order of every question's features. */
  readonly features: readonly string[]
  /** In [0, 1]. */
  readonly targetRisk: number
  readonly folds?: number
  readonly penalty?: number
  /** Of the features; those of the questions are not lower. */
  readonly floors?: Calibration['floors']
  /** The model that gave the probabilities; absent: none did. */
  readonly named?: Calibration['named']
}

export interface Fitted {
  readonly calibration: Calibration
  /** False: no threshold keeps the target on these questions, so almost nothing is answered. */
  readonly targetReached: boolean
  /** Cross-validation scores in the order of question ids; the figures are computed from them. */
  readonly outOfFold: readonly (ScoredQuestion & { readonly id: string })[]
}

/**
 * Fits the probability of sufficient evidence on a question set. Coefficients come from all questions without a given
 * probability. The threshold and every figure come from the given probabilities and from cross-validation, so that no
 * question is scored by a model fitted on it. The same questions in any order give the same numbers. More evidence
 * never lowers the probability.
 * @returns undefined when fewer than CALIBRATION_QUESTIONS_MIN questions of a kind, with or without evidence, have no
 * given probability, or all of these are of one group.
 */
export function fitCalibration(
  questions: readonly CalibrationQuestion[],
  options: CalibrationOptions,
): Fitted | undefined {
  const { features, targetRisk, folds: foldsMax = CALIBRATION_FOLDS, penalty = CALIBRATION_PENALTY } = options
  const ordered = questions.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const fitted = ordered.filter(({ given }) => given === undefined)
  const withEvidence = fitted.filter((question) => question.sufficient).length
  if (Math.min(withEvidence, fitted.length - withEvidence) < CALIBRATION_QUESTIONS_MIN) return undefined
  const folds = assignFolds(
    fitted.map((question) => question.group ?? question.id),
    foldsMax,
  )
  const foldCount = new Set(folds).size
  if (foldCount < 2) return undefined
  const mayFall = features.map((name) => OF_ANY_SIGN.includes(name))
  const probabilities = outOfFoldProbabilities(fitted, folds, penalty, mayFall)
  const scores = new Map(fitted.map(({ id }, at) => [id, probabilities[at] ?? 0]))
  const scored = ordered.map((question) => ({ ...question, score: question.given ?? scores.get(question.id) ?? 0 }))
  // A list without evidence is no right answer.
  const countable = scored.filter(({ sufficient, isEvident }) => !sufficient || isEvident !== false)
  const target = thresholdForTarget(countable, targetRisk)
  const outOfFold = scored.map(({ id, sufficient, score, isEvident = true }) => ({
    id,
    sufficient,
    score: isEvident ? score : Math.min(score, WITHOUT_EVIDENCE_MAX * target.threshold),
  }))
  const calibration: Calibration = {
    features,
    ...fitLogisticRegression(fitted, penalty, mayFall),
    floors: options.floors,
    named: options.named ?? null,
    threshold: target.threshold,
    target_risk: targetRisk,
    folds: foldCount,
    curve: riskCoverageCurve(outOfFold, CALIBRATION_CURVE_POINTS_MAX),
    auroc: auroc(outOfFold) ?? null,
    aurc: aurc(outOfFold) ?? null,
    ece: expectedCalibrationError(outOfFold) ?? null,
    coverage_at_target: outOfFold.filter(({ score }) => score >= target.threshold).length / ordered.length,
    questions: ordered.length,
    answerable: ordered.filter((question) => question.sufficient).length,
  }
  return { calibration, targetReached: target.reached, outOfFold }
}
