import { meanIntervals, type Interval } from './resampling.ts'

export const RANKING_METRICS = ['ndcg@10', 'recall@5', 'recall@10', 'recall@100', 'map@10', 'mrr@10'] as const
type RankingMetric = (typeof RANKING_METRICS)[number]

/** Each in [0, 1]. */
export type RankingFigures = Readonly<Record<RankingMetric, number>>
/** Means over questions, and the interval of each. */
export type SystemFigures = RankingFigures & { readonly ci: Readonly<Record<RankingMetric, Interval>> }

/** Relevance of each record to one question; a record that is absent, or not above 0, is not relevant. */
export type Qrels = ReadonlyMap<string, number>

/**
 * Computes the figures of one ranked list, defined as in trec_eval. nDCG (Järvelin & Kekäläinen 2002) uses the
 * relevance as gain and log2(rank + 1) as discount, against the ideal order of all judged records. Recall and average
 * precision are divided by the number of relevant records, even if the cut-off admits fewer.
 * @param ranked record ids, best first; a repeated id counts once, at its best rank.
 * @returns undefined when nothing is relevant to the question, so that it is not part of a mean.
 */
export function rankingFigures(ranked: readonly string[], qrels: Qrels): RankingFigures | undefined {
  const ideal = [...qrels.values()].filter((relevance) => relevance > 0).sort((a, b) => b - a)
  if (ideal.length === 0) return undefined
  const gains = [...new Set(ranked)].map((id) => Math.max(0, qrels.get(id) ?? 0))
  return {
    'ndcg@10': discounted(gains, 10) / discounted(ideal, 10),
    'recall@5': relevantWithin(gains, 5) / ideal.length,
    'recall@10': relevantWithin(gains, 10) / ideal.length,
    'recall@100': relevantWithin(gains, 100) / ideal.length,
    'map@10': precisions(gains, 10) / ideal.length,
    'mrr@10': reciprocalRank(gains, 10),
  }
}

/** @param perQuestion one entry per answerable question. @throws RangeError when there is none. */
export function systemFigures(perQuestion: readonly RankingFigures[]): SystemFigures {
  const columns = RANKING_METRICS.map((metric) => Float64Array.from(perQuestion, (figures) => figures[metric]))
  const intervals = meanIntervals(columns)
  return { ...byMetric((at) => mean(columns[at] ?? [])), ci: byMetric((at) => intervals[at] ?? [0, 0]) }
}

/** Returns a value for each metric from its index in RANKING_METRICS. */
export function byMetric<T>(value: (at: number) => T): Record<RankingMetric, T> {
  return {
    'ndcg@10': value(0),
    'recall@5': value(1),
    'recall@10': value(2),
    'recall@100': value(3),
    'map@10': value(4),
    'mrr@10': value(5),
  }
}

/** 0 of no values. */
export function mean(values: ArrayLike<number>): number {
  let sum = 0
  for (let at = 0; at < values.length; at++) sum += values[at] ?? 0
  return sum / Math.max(1, values.length)
}

function discounted(gains: readonly number[], cutoff: number): number {
  let sum = 0
  for (const [at, gain] of gains.slice(0, cutoff).entries()) sum += gain / Math.log2(at + 2)
  return sum
}

function relevantWithin(gains: readonly number[], cutoff: number): number {
  return gains.slice(0, cutoff).filter((gain) => gain > 0).length
}

function precisions(gains: readonly number[], cutoff: number): number {
  let [sum, found] = [0, 0]
  for (const [at, gain] of gains.slice(0, cutoff).entries()) {
    if (gain <= 0) continue
    found++
    sum += found / (at + 1)
  }
  return sum
}

function reciprocalRank(gains: readonly number[], cutoff: number): number {
  const at = gains.slice(0, cutoff).findIndex((gain) => gain > 0)
  return at === -1 ? 0 : 1 / (at + 1)
}

export type RankingComparison = NonNullable<ReturnType<typeof compareRankings>>

/**
 * Compares two versions by question id on the questions that both were asked. The paired bootstrap gives a narrower
 * interval than two separate ones, since a hard question is hard for both.
 * @returns undefined when they share no answerable question. `difference`: candidate minus active, with the interval of
 * the paired difference. `worse_on`: metrics whose whole interval lies below zero, so that the candidate is
 * significantly worse.
 */
export function compareRankings(
  candidate: ReadonlyMap<string, RankingFigures>,
  active: ReadonlyMap<string, RankingFigures>,
) {
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
  const metrics = byMetric((at) => {
    const metric = RANKING_METRICS[at] ?? 'ndcg@10'
    return {
      candidate: mean(pairs.map(({ own }) => own[metric])),
      active: mean(pairs.map(({ other }) => other[metric])),
      difference: mean(differences[at] ?? []),
      ci: intervals[at] ?? ([0, 0] as const),
    }
  })
  const worseOn = RANKING_METRICS.filter((metric) => metrics[metric].ci[1] < 0)
  return { questions: pairs.length, metrics, worse_on: worseOn, worse: worseOn.length > 0 }
}
