import type { CitedCandidates } from './candidates/source.ts'

/**
 * Returns scores that rank every cited row above every other row and keep the order within both groups.
 * @param rows candidates, including the cited rows. @param scores at most 1.
 */
export function boostCited(rows: Uint32Array, scores: Float64Array, cited: CitedCandidates['ids']): Float64Array {
  if (cited.size === 0) return scores
  return scores.map((score, at) =>
    cited.has(rows[at] ?? 0) ? 0.5 + Math.max(0, score) / 2 : Math.max(0, score) * BELOW_CITED,
  )
}

/** Below one half: the best score of a row that is not cited stays below the lowest score of a cited row. */
const BELOW_CITED = 0.499
