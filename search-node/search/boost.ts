import type { NamedRows } from './interfaces.ts'

/** Below one half: the best score of a row that is not named stays below the lowest score of a named row. */
const BELOW_NAMED = 0.499

/**
 * Returns scores that rank every named row above every other row, in the given order. The other rows keep their order.
 * @param rows candidates, including the named rows. @param scores at most 1.
 * @param order all named rows; see `namedOrder`.
 */
export function boostNamed(rows: Uint32Array, scores: Float64Array, order: readonly number[]): Float64Array {
  if (order.length === 0) return scores
  const ranks = new Map(order.map((row, rank) => [row, rank]))
  return scores.map((score, at) => {
    const rank = ranks.get(rows[at] ?? 0)
    return rank === undefined ? Math.max(0, score) * BELOW_NAMED : 1 - rank / (2 * order.length)
  })
}

interface NamedRow {
  readonly row: number
  readonly reference: number
}

/** Several references share the first so many passages of any list: a re-ranker's list is longer than the reply. */
const SHARED_FIRST = 5

/**
 * NamedBy rows in the order of a reply: by reference, the provision itself before its parts, each in the order of the
 * document. Each of several references has an equal share of the first passages and of the list. Where a provision has
 * more passages than its share, its opening and those that hold most of what is asked come first, in the order of the
 * document.
 * @param relevance what a row holds of what the question asks. @param limit passages wanted.
 */
export function namedOrder(
  named: NamedRows['ids'],
  relevance: (row: number) => number,
  limit: number,
): readonly number[] {
  const ordered = [...named]
    .map(([row, { reference, nearness }]) => ({ row, reference, nearness }))
    .sort((a, b) => a.reference - b.reference || a.nearness - b.nearness || a.row - b.row)
  const references = Map.groupBy(ordered, ({ reference }) => reference)
  const sizes = references.size > 1 ? [Math.min(limit, SHARED_FIRST), limit] : [limit]
  const rest = new Set(ordered.map(({ row }) => row))
  return [...sizes, Infinity].flatMap((size) => {
    const share = Math.max(1, Math.floor(size / references.size))
    const chosen = new Set([...references.values()].flatMap((rows) => firstShare(rows, relevance, share)))
    return [...rest].filter((row) => chosen.has(row) && rest.delete(row))
  })
}

/** The opening, and the rows that hold most of what is asked. */
function firstShare(rows: readonly NamedRow[], relevance: (row: number) => number, share: number): readonly number[] {
  const [opening, ...others] = rows.map(({ row }, rank) => ({ row, rank, relevance: relevance(row) }))
  if (opening === undefined) return []
  const best = others.toSorted((a, b) => b.relevance - a.relevance || a.rank - b.rank)
  return [opening, ...best].slice(0, share).map(({ row }) => row)
}
