import type { Ranking } from '#core/domain/search.ts'

/** Candidates of both rankings in parallel columns; every candidate has the score of each ranking that ran. */
export interface Candidates {
  readonly rows: Uint32Array
  /** In [0, 1]; 0: shares no word with the query. Undefined: no lexical ranking. */
  readonly lexical: Float64Array | undefined
  /** See `vector-scores.ts`; without bounds. Undefined: no dense ranking. */
  readonly dense: Float64Array | undefined
}

export type Fusion = Pick<Ranking, 'fusion' | 'denseWeight' | 'rrfK'>

/**
 * A score to the power of 1.5, with its sign: few shared words, and passages that lie near no better than many others,
 * count little; see decision 0026. A square root is rounded alike on every machine.
 */
function powered(score: number): number {
  return score * Math.sqrt(Math.abs(score))
}

/**
 * Returns one score of at most 1 per candidate, from weighted scores (Bruch, Gai & Ingber 2023) or reciprocal ranks
 * (Cormack, Clarke & Büttcher 2009; scaled so that first in both rankings gives 1). If only one ranking ran, returns
 * its scores. Scores of vectors, and sums with them, are mapped into (0, 1).
 */
export function fuse(
  { rows, lexical, dense }: Candidates,
  { fusion, denseWeight: weight, rrfK: k }: Fusion,
): Float64Array {
  if (lexical === undefined) return dense?.map(intoUnit) ?? new Float64Array(rows.length)
  if (dense === undefined) return lexical.slice()
  switch (fusion) {
    case 'weighted':
      return lexical.map((score, at) => intoUnit((1 - weight) * powered(score) + weight * powered(dense[at] ?? 0)))
    case 'rrf': {
      const [lexicalRanks, denseRanks] = [ranksOf(lexical), ranksOf(dense)]
      const share = (rank: number): number => (rank === 0 ? 0 : (k + 1) / (k + rank))
      return rows.length === 0
        ? new Float64Array()
        : lexical.map((_, at) => (1 - weight) * share(lexicalRanks[at] ?? 0) + weight * share(denseRanks[at] ?? 0))
    }
    default:
      return fusion satisfies never
  }
}

/** Scores from here to 1 less this stay as they are. */
const UNIT_EDGE = 0.05

/**
 * Maps any number into (0, 1). The map is strictly increasing, so passages far below the mean keep their order.
 * Hyperbolas replace the line outside the edges. They use no function whose rounding depends on the machine.
 */
function intoUnit(score: number): number {
  if (score < UNIT_EDGE) return UNIT_EDGE ** 2 / (2 * UNIT_EDGE - score)
  if (score > 1 - UNIT_EDGE) return 1 - UNIT_EDGE ** 2 / (score - 1 + 2 * UNIT_EDGE)
  return score
}

/** Ranks from 1; equal scores share the best of their ranks, a score of 0 has none (0). */
function ranksOf(scores: Float64Array): Uint32Array {
  const order = Uint32Array.from(scores.keys()).sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0) || a - b)
  const ranks = new Uint32Array(scores.length)
  let [rank, previous] = [0, Number.NaN]
  for (const [index, at] of order.entries()) {
    const score = scores[at] ?? 0
    if (score === 0) break
    if (score !== previous) [rank, previous] = [index + 1, score]
    ranks[at] = rank
  }
  return ranks
}
