import type { ScoredQuestion } from './abstention.ts'

const DISTRIBUTION_BINS = 25

/**
 * Number of questions with an observed value in each of 25 bins of equal width over [0, 1]. Values outside count in the
 * outermost bins.
 */
export interface ScoreDistribution {
  readonly sufficient: readonly number[]
  readonly insufficient: readonly number[]
}

export function scoreDistribution(questions: readonly ScoredQuestion[]): ScoreDistribution {
  const [sufficient, insufficient] = [
    new Array<number>(DISTRIBUTION_BINS).fill(0),
    new Array<number>(DISTRIBUTION_BINS).fill(0),
  ]
  for (const question of questions) {
    const bin = Math.min(DISTRIBUTION_BINS - 1, Math.max(0, Math.floor(question.score * DISTRIBUTION_BINS)))
    const counts = question.sufficient ? sufficient : insufficient
    counts[bin] = (counts[bin] ?? 0) + 1
  }
  return { sufficient, insufficient }
}
