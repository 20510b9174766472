import type { ResolvedReferences } from './references.ts'

/**
 * Scores in which every row that the query names stands above every row that it does not; among themselves each keep their order.
 * @param rows candidates, the named ones among them. @param scores at most 1.
 */
export function raiseNamed(rows: Uint32Array, scores: Float64Array, named: ResolvedReferences['rows']): Float64Array {
  if (named.size === 0) return scores
  return scores.map((score, at) => Math.max(0, score) / 2 + (named.has(rows[at] ?? 0) ? 0.5 : 0))
}
