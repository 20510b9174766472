import { coverageAtRisk, operatingPoints } from '#jobs/evaluate/metrics/abstention.ts'
import type { ScoredQuestion } from '#jobs/evaluate/metrics/abstention.ts'

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
 * The threshold of the largest coverage at which at most the target share of the answers lacks evidence, midway to the next lower probability
 * seen, so that rounding cannot move a question across. Where even the surest questions exceed the target, only what is surer than everything
 * seen without evidence is answered: midway between the highest such probability and 1, and never below 1 - target, from where on a
 * calibrated probability keeps the target by itself.
 * @param questions with probabilities from models that had not seen them.
 */
export function thresholdForTarget(questions: readonly ScoredQuestion[], targetRisk: number): TargetThreshold {
  const reached = coverageAtRisk(questions, targetRisk)
  if (reached !== undefined) {
    const below = operatingPoints(questions).find(({ threshold }) => threshold < reached.threshold)
    return { ...reached, threshold: below === undefined ? reached.threshold : between(below.threshold, reached.threshold), reached: true }
  }
  const doubtful = questions.filter(({ sufficient }) => !sufficient).map(({ score }) => score)
  const highest = doubtful.reduce((most, score) => Math.max(most, score), 0)
  return { threshold: Math.max(1 - targetRisk, between(highest, 1)), coverage: 0, risk: 0, reached: false }
}

/** The midpoint, or the upper value where no number lies between the two. */
function between(lower: number, upper: number): number {
  const middle = (lower + upper) / 2
  return middle > lower ? middle : upper
}
