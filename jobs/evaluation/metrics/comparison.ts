import { byMetric, mean, RANKING_METRICS } from './ranking.ts'
import type { RankingFigures, RankingMetric } from './ranking.ts'
import { meanIntervals } from './resampling.ts'
import type { Interval } from './resampling.ts'

export interface MetricDifference {
  readonly candidate: number
  readonly active: number
  /** Candidate minus active; the interval is that of the paired difference. */
  readonly difference: number
  readonly ci: Interval
}

export interface RankingComparison {
  /** Answerable questions that both were asked. */
  readonly questions: number
  readonly metrics: Readonly<Record<RankingMetric, MetricDifference>>
  /** Metrics whose whole interval lies below zero, so that the candidate is significantly worse. */
  readonly worse_on: readonly RankingMetric[]
  /** True if worse on any metric. */
  readonly worse: boolean
}

/**
 * Compares two versions by question id on the questions that both were asked. The paired bootstrap gives a narrower
 * interval than two separate ones, since a hard question is hard for both.
 * @returns undefined when they share no question.
 */
export function compareRankings(
  candidate: ReadonlyMap<string, RankingFigures>,
  active: ReadonlyMap<string, RankingFigures>,
): RankingComparison | undefined {
  const pairs = [...candidate]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([id, own]) => {
      const other = active.get(id)
      return other === undefined ? [] : [{ own, other }]
    })
  if (pairs.length === 0) return undefined
  const differences = RANKING_METRICS.map((metric) =>
    Float64Array.from(pairs, ({ own, other }) => own[metric] - other[metric]),
  )
  const intervals = meanIntervals(differences)
  const metrics = byMetric((at): MetricDifference => {
    const metric = RANKING_METRICS[at] ?? 'ndcg@10'
    return {
      candidate: mean(pairs.map(({ own }) => own[metric])),
      active: mean(pairs.map(({ other }) => other[metric])),
      difference: mean(differences[at] ?? []),
      ci: intervals[at] ?? [0, 0],
    }
  })
  const worseOn = RANKING_METRICS.filter((metric) => metrics[metric].ci[1] < 0)
  return { questions: pairs.length, metrics, worse_on: worseOn, worse: worseOn.length > 0 }
}
