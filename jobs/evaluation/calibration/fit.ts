import { CALIBRATION_CURVE_POINTS_MAX, modelLogOdds, modelProbability } from '#core/domain/calibration.ts'
import type { Calibration } from '#core/domain/calibration.ts'
import { WITHOUT_EVIDENCE_MAX } from '#core/domain/decision.ts'
import { DESCRIPTIVE_PREDICTORS } from '#core/domain/predictors.ts'
import {
  aurc,
  auroc,
  expectedCalibrationError,
  riskCoverageCurve,
  operatingPoints,
} from '#jobs/evaluation/metrics/abstention.ts'
import type { ScoredQuestion, OperatingPoint } from '#jobs/evaluation/metrics/abstention.ts'
import { words } from '#core/index/analysis/words.ts'
import { sha256 } from '#core/platform/digest.ts'
import { fitLogisticRegression, predict, type LabelledSample } from './logistic-regression.ts'

/** A low margin may say that several passages hold the answer, or that none does. */
const OF_ANY_SIGN: readonly string[] = [...DESCRIPTIVE_PREDICTORS, 'reader_margin']
const CALIBRATION_FOLDS = 5
const CALIBRATION_PENALTY = 1
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

interface CalibrationOptions {
  /** Names, in the order of every question's features. */
  readonly features: readonly string[]
  /** In [0, 1]. */
  readonly targetRisk: number
  /** Of the features; those of the questions are not lower. */
  readonly floors?: Calibration['floors']
  /** The model that gave the probabilities; absent: none did. */
  readonly named?: Calibration['named']
}

export type Fitted = NonNullable<ReturnType<typeof fitCalibration>>

/**
 * Fits the probability of sufficient evidence on a question set. Coefficients come from all questions without a given
 * probability. The threshold and every figure come from the given probabilities and from cross-validation, so that no
 * question is scored by a model fitted on it. The same questions in any order give the same numbers. More evidence
 * never lowers the probability.
 * @returns undefined when fewer than CALIBRATION_QUESTIONS_MIN questions of a kind, with or without evidence, have no
 * given probability, or all of these are of one group. `outOfFold`: cross-validation scores in the order of question ids, from which the figures are computed;
 * `targetReached` false: no threshold keeps the target on these questions, so almost nothing is answered.
 */
export function fitCalibration(questions: readonly CalibrationQuestion[], options: CalibrationOptions) {
  const { features, targetRisk } = options
  const ordered = questions.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const fitted = ordered.filter(({ given }) => given === undefined)
  const withEvidence = fitted.filter((question) => question.sufficient).length
  if (Math.min(withEvidence, fitted.length - withEvidence) < CALIBRATION_QUESTIONS_MIN) return undefined
  const folds = assignFolds(
    fitted.map((question) => question.group ?? question.id),
    CALIBRATION_FOLDS,
  )
  const foldCount = new Set(folds).size
  if (foldCount < 2) return undefined
  const mayFall = features.map((name) => OF_ANY_SIGN.includes(name))
  const probabilities = outOfFoldProbabilities(fitted, folds, CALIBRATION_PENALTY, mayFall)
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
    ...fitLogisticRegression(fitted, CALIBRATION_PENALTY, mayFall),
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

/**
 * Returns the threshold at which most questions with evidence are answered, under two limits. At most the target share
 * of the answers lacks evidence, and at most one in ten questions without evidence is answered. Of equal thresholds the
 * highest counts. It is placed midway to the next lower observed probability, so that rounding cannot move a question
 * across. Where even the highest probabilities exceed the target, the threshold is midway between the highest
 * probability without evidence and 1. It is then never below 1 - target, at which a calibrated probability keeps the
 * target by itself.
 * @param questions with probabilities from cross-validation.
 * @returns the `threshold` in [0, 1], not less than which a probability answers; `coverage`: the share of the questions
 * answered at it, 0 when no threshold reaches the target; `risk`: the share of these without evidence, 0 without answers.
 */
export function thresholdForTarget(questions: readonly ScoredQuestion[], targetRisk: number) {
  const reached = bestUnderTarget(questions, targetRisk)
  if (reached !== undefined) {
    const below = operatingPoints(questions).find(({ threshold }) => threshold < reached.threshold)
    return {
      ...reached,
      threshold: below === undefined ? reached.threshold : between(below.threshold, reached.threshold),
      reached: true,
    }
  }
  const doubtful = questions.filter(({ sufficient }) => !sufficient).map(({ score }) => score)
  const highest = doubtful.reduce((most, score) => Math.max(most, score), 0)
  return { threshold: Math.max(1 - targetRisk, between(highest, 1)), coverage: 0, risk: 0, reached: false }
}

/** Maximum share of the questions without evidence that may be answered, independent of their number. */
export const INSUFFICIENT_ANSWERED_MAX = 0.1

function bestUnderTarget(questions: readonly ScoredQuestion[], targetRisk: number): OperatingPoint | undefined {
  const insufficient = questions.filter(({ sufficient }) => !sufficient).length
  let best: { readonly point: OperatingPoint; readonly right: number } | undefined
  for (const point of operatingPoints(questions)) {
    const answered = Math.round(point.coverage * questions.length)
    const wrong = Math.round(point.risk * answered)
    if (point.risk > targetRisk || wrong > insufficient * INSUFFICIENT_ANSWERED_MAX) continue
    if (best === undefined || answered - wrong > best.right) best = { point, right: answered - wrong }
  }
  return best?.point
}

/** Returns the midpoint, or the upper value where float64 has no number between the two. */
function between(lower: number, upper: number): number {
  const middle = (lower + upper) / 2
  return middle > lower ? middle : upper
}

/**
 * Corrects the model for lists of a named provision on labelled questions: their log-odds under it are the one feature
 * of a logistic regression (Platt 1999), so that few questions move level and slope and not the weights among its
 * features. It stays as it is with fewer than CALIBRATION_QUESTIONS_MIN questions of a kind, or where higher log-odds
 * would be worse.
 * @param questions with the features of the model.
 * @returns for each question the probability of a model that was corrected without it.
 */
export function correctNamed(model: NonNullable<Calibration['named']>, questions: readonly CalibrationQuestion[]) {
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

/**
 * Assigns keys to folds: distinct keys in the order of their SHA-256, round robin. Equal keys share a fold, folds
 * differ by at most one key, and the order of the questions has no effect.
 * @returns the fold of each key, from 0. The number of folds is `foldsMax`, or the number of distinct keys if that is
 * smaller.
 */
export function assignFolds(keys: readonly string[], foldsMax: number): readonly number[] {
  const hashed = [...new Set(keys)].map((key) => ({ key, hash: sha256(key).toString('hex') }))
  hashed.sort((a, b) => (a.hash < b.hash ? -1 : 1))
  const foldOf = new Map(hashed.map(({ key }, at) => [key, at % foldsMax]))
  return keys.map((key) => foldOf.get(key) ?? 0)
}

const FOLDS = 5

/** Returns the fold of each question. Questions of a group share one; without a group, those with the same words. */
export function foldsOf<Q extends { readonly text: string; readonly group: string | undefined }>(
  questions: readonly Q[],
): ReadonlyMap<Q, number> {
  const folds = assignFolds(
    questions.map(({ text, group }) => group ?? words(text).join(' ')),
    FOLDS,
  )
  return new Map(questions.map((question, at) => [question, folds[at] ?? 0]))
}

/**
 * Returns the probability of each sample under a model that was fitted without its fold.
 * @param folds of each sample; at least two different ones.
 */
export function outOfFoldProbabilities(
  samples: readonly LabelledSample[],
  folds: readonly number[],
  penalty: number,
  mayFall?: readonly boolean[],
): readonly number[] {
  const probabilities = new Array<number>(samples.length).fill(0)
  for (const fold of new Set(folds)) {
    const held = samples.flatMap((sample, at) => (folds[at] === fold ? [{ sample, at }] : []))
    const others = samples.filter((_, at) => folds[at] !== fold)
    const asked = held.map(({ sample }) => sample)
    const predicted = predict(fitLogisticRegression(others, penalty, mayFall), asked)
    for (const [index, { at }] of held.entries()) probabilities[at] = predicted[index] ?? 0
  }
  return probabilities
}
