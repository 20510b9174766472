import type { ResolvedReferences } from './candidates/references/resolve.ts'

/**
 * Scores in which every row that the query names stands above every row that it does not; among themselves each keep
 * their order.
 * @param rows candidates, the named ones among them. @param scores at most 1.
 */
export function raiseNamed(rows: Uint32Array, scores: Float64Array, named: ResolvedReferences['rows']): Float64Array {
  if (named.size === 0) return scores
  return scores.map((score, at) =>
    named.has(rows[at] ?? 0) ? 0.5 + Math.max(0, score) / 2 : Math.max(0, score) * BELOW_NAMED,
  )
}

/** Less than a half, so that even the best score of a row that is not named stays below the least of one that is. */
const BELOW_NAMED = 0.499
