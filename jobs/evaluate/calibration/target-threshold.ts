import { operatingPoints } from '#jobs/evaluate/metrics/abstention.ts'
import type { OperatingPoint, ScoredQuestion } from '#jobs/evaluate/metrics/abstention.ts'

export interface TargetThreshold {
  /** In [0, 1]; answer iff the probability is not less. */
  readonly threshold: number
  /** Share of the questions answered at the threshold; 0 when the target is out of reach. */
  readonly coverage: number
  /** Share of the answers without evidence; 0 when nothing is answered. */
  readonly risk: number
  readonly reached: boolean
}

/**
 * The threshold at which most questions with evidence are answered while at most the target share of the answers lacks
 * it and at most one in ten questions without evidence is answered; of equals the highest, midway to the next lower
 * probability seen, so that rounding cannot move a question across. Where even the surest questions exceed the target,
 * only what is surer than everything seen without evidence is answered: midway between the highest such probability and
 * 1, and never below 1 - target, from where on a calibrated probability keeps the target by itself.
 * @param questions with probabilities from models that had not seen them.
 */
export function thresholdForTarget(questions: readonly ScoredQuestion[], targetRisk: number): TargetThreshold {
  const reached = bestWithin(questions, targetRisk)
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

/** Of the questions without evidence at most this share may be answered, however few they are among all. */
export const INSUFFICIENT_ANSWERED_MAX = 0.1

function bestWithin(questions: readonly ScoredQuestion[], targetRisk: number): OperatingPoint | undefined {
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

/** The midpoint, or the upper value where no number lies between the two. */
function between(lower: number, upper: number): number {
  const middle = (lower + upper) / 2
  return middle > lower ? middle : upper
}
