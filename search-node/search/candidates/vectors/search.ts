import { addRow, hasRow } from '#core/platform/bitset.ts'
import type { CellsReader } from '#core/index/vectors/cells-reader.ts'
import type { CodesReader } from '#core/index/vectors/codes-reader.ts'
import { codesLayout } from '#core/index/vectors/layout.ts'
import type { RowFile } from '#core/index/vectors/row-file.ts'
import { createTopK } from '#core/platform/top-k.ts'
import { listRows } from '#search-node/search/candidates/filter-bitset.ts'
import type { FilterBitset } from '#search-node/search/candidates/filter-bitset.ts'
import { PREDICTOR_DEPTH } from '#search-node/search/predictors.ts'
import { scanNearCells } from './near-cells.ts'
import { exactRowsMax, PLAN_COSTS } from './query-plan.ts'
import type { PlanCosts, QueryPlan } from './query-plan.ts'

export interface VectorIndex {
  readonly passages: number
  readonly dimensions: number
  /** float32. */
  readonly vectors: RowFile
  readonly codes: CodesReader
  /** Undefined for a small version. */
  readonly cells: CellsReader | undefined
  readonly rows: { readonly chunkRanks: Uint32Array }
}

export interface NearestRows {
  readonly plan: QueryPlan
  /** Ascending; more than the limit if so many are allowed. */
  readonly ids: Uint32Array
  /** Cosines. */
  readonly scores: Float64Array
}

/** The fusion asks for this many times the rows that are shown. */
const SHOWN_SHARE = 0.5

/**
 * Finds the allowed rows nearest to the query: at least `limit`, or all if there are fewer. The same input gives the
 * same rows on every replica.
 * @param query unit length. @param rowsScoredMin the minimum of rows that are scored.
 */
export function nearestRows(
  index: VectorIndex,
  query: Float32Array,
  allowed: FilterBitset,
  limit: number,
  rowsScoredMin: number,
  costs: PlanCosts = PLAN_COSTS,
): NearestRows {
  const { passages, dimensions, codes, cells } = index
  const kept = Math.max(limit, PREDICTOR_DEPTH)
  if (allowed.count <= exactRowsMax(passages, dimensions))
    return { plan: 'exact', ...nearestAmong(index, query, listRows(allowed), kept) }
  const scan = codes.scan(query, { kept, sure: limit, threshold: Math.ceil(limit * SHOWN_SHARE) })
  if (cells === undefined) {
    scan.add(allowed.bits, 0, passages)
    return { plan: 'scan', ...nearestAmong(index, query, scan.rows(), kept) }
  }
  const places = placesOf(cells, allowed)
  const all = { rows: passages, allowed: allowed.count, rowBytes: codesLayout(passages, dimensions).rowBytes }
  const scored = Math.max(rowsScoredMin, kept)
  const left = scanNearCells(cells, scan, { query, places, all, rowsScoredMin: scored, costs })
  if (left !== undefined) scan.add(left, 0, passages)
  const rows = scan.rows()
  for (let at = 0; at < rows.length; at++) rows[at] = cells.rowOf[rows[at] ?? 0] ?? 0
  return { plan: left === undefined ? 'cells' : 'scan', ...nearestAmong(index, query, rows, kept) }
}

/** Allowed places of the filters that are remembered. */
const placesOfFilters = new WeakMap<FilterBitset, Uint32Array>()

function placesOf({ rowOf }: CellsReader, allowed: FilterBitset): Uint32Array {
  if (allowed.count === rowOf.length) return allowed.bits
  const known = placesOfFilters.get(allowed)
  if (known !== undefined) return known
  const places = new Uint32Array(allowed.bits.length)
  for (let place = 0; place < rowOf.length; place++) if (hasRow(allowed.bits, rowOf[place] ?? 0)) addRow(places, place)
  placesOfFilters.set(allowed, places)
  return places
}

/** Scores rows exactly and keeps the best of them; of equal ones those of the first chunk ids. */
export function nearestAmong(
  { vectors, rows: { chunkRanks } }: Pick<VectorIndex, 'vectors' | 'rows'>,
  query: Float32Array,
  rows: Uint32Array,
  kept: number,
): Pick<NearestRows, 'ids' | 'scores'> {
  const ids = rows.toSorted()
  const scores = vectors.cosines(ids, query)
  if (ids.length <= kept) return { ids, scores }
  const ranks = new Uint32Array(ids.length)
  for (let at = 0; at < ids.length; at++) ranks[at] = chunkRanks[ids[at] ?? 0] ?? 0
  const top = createTopK(kept, ranks)
  for (let at = 0; at < ids.length; at++) top.offer(at, scores[at] ?? 0)
  const places = top.sorted().ids.sort()
  const best = { ids: new Uint32Array(kept), scores: new Float64Array(kept) }
  for (let place = 0; place < kept; place++) {
    const at = places[place] ?? 0
    best.ids[place] = ids[at] ?? 0
    best.scores[place] = scores[at] ?? 0
  }
  return best
}
