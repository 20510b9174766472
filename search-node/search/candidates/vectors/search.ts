import { innerProductAt } from '#core/index/vectors/inner-product.ts'
import { candidatesOf } from '#core/index/vectors/heads.ts'
import { listRows } from '#search-node/search/candidates/filter-bitset.ts'
import type { FilterBitset } from '#search-node/search/candidates/filter-bitset.ts'
import { headOf } from '#core/index/vectors/cells-reader.ts'
import { scoreCells } from './cells.ts'
import type { Cells } from '#core/index/vectors/cells-reader.ts'
import { createScorer, scoreAll } from './exact.ts'
import { planQuery } from './query-plan.ts'
import type { QueryPlan } from './query-plan.ts'
import type { RowFile } from '#core/index/vectors/row-file.ts'

export interface VectorIndex {
  readonly passages: number
  readonly cells: Cells
  /** int8, by slot. */
  readonly heads: RowFile
}

export interface NearestRows {
  readonly plan: QueryPlan
  /** Nearest first, up to rounding error; more than the limit if so many are allowed. */
  readonly rows: Uint32Array
}

/**
 * Finds candidates for the `limit` allowed rows nearest to the query; the caller rescores them with `cosines`. The same
 * input gives the same rows on every replica.
 * @param query unit length. @param rowsScoredMin the minimum of rows that are scored.
 */
export function nearestRows(
  index: VectorIndex,
  query: Float32Array,
  allowed: FilterBitset,
  limit: number,
  rowsScoredMin: number,
): NearestRows {
  const { passages, cells, heads } = index
  const plan = planQuery({ passages, head: cells.head, cells: cells.count, allowed: allowed.count })
  if (allowed.count === 0) return { plan, rows: new Uint32Array(0) }
  const head = headOf(cells, query)
  for (let wanted = candidatesOf(limit); ; wanted *= WIDEN_FACTOR) {
    const scorer = createScorer(heads, cells.rowOf, head, wanted)
    if (plan === 'exact') scoreAll(scorer, listRows(allowed), cells.slotOf)
    else
      scoreCells(cells, scorer, {
        head,
        allowed,
        needed: Math.min(limit, allowed.count),
        least: Math.min(rowsScoredMin, allowed.count),
      })
    const undecided =
      cells.count === 1 && scorer.productOf(limit) - scorer.productOf(wanted) < ROUNDING * innerProductAt(head, 0, head)
    if (!undecided || wanted > CANDIDATES_MAX) return { plan, rows: scorer.rows() }
  }
}

/**
 * The cosine error of whole int8 vectors is at most about 0.001. If a filter leaves rows at nearly equal distances,
 * more rows than usual lie within that error of the last wanted row. All of them are then rescored from float32.
 */
const ROUNDING = 0.002
const WIDEN_FACTOR = 6
const CANDIDATES_MAX = 2_000

/** Cosines of rows, bit-identical on every machine. @param rows ascending. @param query unit length. */
export function cosines(vectors: RowFile, rows: Uint32Array, query: Float32Array): Float64Array {
  const scores = new Float64Array(rows.length)
  for (let at = 0; at < rows.length; at += vectors.rowsMax) {
    const piece = rows.subarray(at, at + vectors.rowsMax)
    const block = new Float32Array(vectors.read(piece), 0, piece.length * query.length)
    for (let position = 0; position < piece.length; position++)
      scores[at + position] = innerProductAt(block, position * query.length, query)
  }
  return scores
}
