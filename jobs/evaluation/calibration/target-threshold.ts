import { operatingPoints } from '#jobs/evaluation/metrics/abstention.ts'
import type { OperatingPoint, ScoredQuestion } from '#jobs/evaluation/metrics/abstention.ts'

export interface TargetThreshold {
  /** In [0, 1]; a question is answered if and only if its probability is not less. */
  readonly threshold: number
  /** Share of the questions answered at the threshold; 0 when no threshold reaches the target. */
  readonly coverage: number
  /** Share of the answers without evidence; 0 when nothing is answered. */
  readonly risk: number
  readonly reached: boolean
}

/**
 * Returns the threshold at which most questions with evidence are answered, under two limits. At most the target share
 * of the answers lacks evidence, and at most one in ten questions without evidence is answered. Of equal thresholds the
 * highest counts. It is placed midway to the next lower observed probability, so that rounding cannot move a question
 * across. Where even the highest probabilities exceed the target, the threshold is midway between the highest
 * probability without evidence and 1. It is then never below 1 - target, at which a calibrated probability keeps the
 * target by itself.
 * @param questions with probabilities from cross-validation.
 */
export function thresholdForTarget(questions: readonly ScoredQuestion[], targetRisk: number): TargetThreshold {
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
