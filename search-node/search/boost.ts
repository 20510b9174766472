import type { CitedCandidates } from './candidates/source.ts'

/** Below one half: the best score of a row that is not cited stays below the lowest score of a cited row. */
const BELOW_CITED = 0.499

/**
 * Returns scores that rank every cited row above every other row. Cited rows are in the order in which a reader
 * expects them; see `citedOrder`. The other rows keep their order.
 * @param rows candidates, including the cited rows. @param scores at most 1.
 * @param limit passages wanted.
 */
export function boostCited(
  rows: Uint32Array,
  scores: Float64Array,
  cited: CitedCandidates['ids'],
  limit: number,
): Float64Array {
  if (cited.size === 0) return scores
  const places = placesOf(cited, limit)
  return scores.map((score, at) => {
    const place = places.get(rows[at] ?? 0)
    return place === undefined ? Math.max(0, score) * BELOW_CITED : 1 - place / (2 * cited.size)
  })
}

/** The place of each cited row, from 0. */
function placesOf(cited: CitedCandidates['ids'], limit: number): ReadonlyMap<number, number> {
  return new Map(citedOrder(cited, limit).map((row, place) => [row, place]))
}

/** Several references share blocks of at most so many passages; a re-ranker's list is longer than the reply. */
const SHARED_BLOCK_MAX = 4

/**
 * Cited rows in the order of a reply: blocks in which each reference has an equal share; in a block by reference, the
 * provision itself before its parts, each in the order of the document.
 * @param limit passages wanted.
 */
export function citedOrder(cited: CitedCandidates['ids'], limit: number): readonly number[] {
  const ordered = [...cited]
    .map(([row, { reference, nearness }]) => ({ row, reference, nearness }))
    .sort((a, b) => a.reference - b.reference || a.nearness - b.nearness || a.row - b.row)
  const references = new Set(ordered.map(({ reference }) => reference))
  const share = Math.max(1, Math.floor(Math.min(limit, SHARED_BLOCK_MAX) / references.size))
  const before = new Map<number, number>()
  return ordered
    .map(({ row, reference }) => {
      const count = before.get(reference) ?? 0
      before.set(reference, count + 1)
      return { row, block: Math.floor(count / share) }
    })
    .sort((a, b) => a.block - b.block)
    .map(({ row }) => row)
}
