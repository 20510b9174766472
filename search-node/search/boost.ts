import type { CitedCandidates } from './candidates/source.ts'

/**
 * Scores in which every row that the query names stands above every row that it does not; among themselves each keep
 * their order.
 * @param rows candidates, the named ones among them. @param scores at most 1.
 */
export function boostCited(rows: Uint32Array, scores: Float64Array, cited: CitedCandidates['ids']): Float64Array {
  if (cited.size === 0) return scores
  return scores.map((score, at) =>
    cited.has(rows[at] ?? 0) ? 0.5 + Math.max(0, score) / 2 : Math.max(0, score) * BELOW_CITED,
  )
}

/** Less than a half, so that even the best score of a row that is not named stays below the least of one that is. */
const BELOW_CITED = 0.499
