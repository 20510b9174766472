import { addRow, hasRow } from '#core/platform/bitset.ts'
import type { CellsReader } from '#core/index/vectors/cells-reader.ts'
import type { CodesReader } from '#core/index/vectors/codes-reader.ts'
import type { CodesScan, NearestRange } from '#core/index/vectors/codes-scan.ts'
import { codesLayout } from '#core/index/vectors/layout.ts'
import type { RowFile } from '#core/index/vectors/row-file.ts'
import { createTopK } from '#core/platform/top-k.ts'
import { listRows } from '#search-node/search/candidates/filter-bitset.ts'
import type { FilterBitset } from '#search-node/search/candidates/filter-bitset.ts'
import { VECTOR_CANDIDATES_MIN } from '#search-node/search/candidates/source.ts'
import type { ScoredCandidates, VectorCandidates } from '#search-node/search/candidates/source.ts'
import { PREDICTOR_DEPTH } from '#search-node/search/predictors.ts'
import { scanNearCells } from './near-cells.ts'
import type { CellQuery } from './near-cells.ts'
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

export interface NearestRows extends VectorCandidates {
  readonly plan: QueryPlan
}

/** The fusion asks for this many times the rows that are shown. */
const SHOWN_SHARE = 0.5

/** None of the rows that a ranking uses should be missed, also where they are few. */
const SHOWN_DEVIATIONS = 4
/**
 * Rows that predictors look at, however many are wanted. Each further row is read in float32: of vectors with
 * neighbourhoods, one in a hundred of the fifty gives way to a row that is hardly farther. Of others, the distances
 * hardly differ, and so few deviations would lose rows that a ranking uses (decision 0037).
 */
const WITH_NEIGHBOURHOODS: readonly NearestRange[] = [
  { count: PREDICTOR_DEPTH, deviations: 1.5 },
  { count: VECTOR_CANDIDATES_MIN, deviations: SHOWN_DEVIATIONS },
]
const ANY_VECTORS: readonly NearestRange[] = [{ count: PREDICTOR_DEPTH, deviations: 3 }]

/**
 * Finds the allowed rows nearest to the query: at least `limit`, or all if there are fewer; ascending. The same input
 * gives the same rows on every replica.
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
  const more = limit > VECTOR_CANDIDATES_MIN
  const ofPredictors = hasNeighbourhoods(cells) ? WITH_NEIGHBOURHOODS : ANY_VECTORS
  const ranges = more ? [...ofPredictors, { count: limit, deviations: SHOWN_DEVIATIONS }] : ofPredictors
  const scan = codes.scan(query, { ranges, threshold: Math.ceil(limit * SHOWN_SHARE) })
  const plan = scanAllowed(index, scan, query, allowed, { rowsScoredMin: Math.max(rowsScoredMin, kept), costs })
  const scored = scoredRows(index, query, rowsIn(cells, scan.rows()))
  const forPredictors = (): ScoredCandidates =>
    bestOf(index, among(scored, rowsIn(cells, scan.rows(ofPredictors.length))), PREDICTOR_DEPTH)
  return { plan, ...bestOf(index, scored, kept), forPredictors: more ? forPredictors() : undefined }
}

/**
 * Whether the nearest rows of a query lie in a part of the cells. It depends on the version alone, so that predictors
 * do not depend on the filter's plan. A small version has no cells that tell.
 */
function hasNeighbourhoods(cells: CellsReader | undefined): boolean {
  return cells !== undefined && 2 * (cells.probes[0] ?? Infinity) < cells.starts.length - 1
}

/** Scans the codes of allowed rows, as far as they may be among the nearest. */
function scanAllowed(
  { passages, dimensions, cells }: VectorIndex,
  scan: CodesScan,
  query: Float32Array,
  allowed: FilterBitset,
  { rowsScoredMin, costs }: Pick<CellQuery, 'rowsScoredMin' | 'costs'>,
): 'scan' | 'cells' {
  if (cells === undefined) {
    scan.add(allowed.bits, 0, passages)
    return 'scan'
  }
  const places = placesOf(cells, allowed)
  const all = { rows: passages, allowed: allowed.count, rowBytes: codesLayout(passages, dimensions).rowBytes }
  const left = scanNearCells(cells, scan, { query, places, all, rowsScoredMin, costs })
  if (left === undefined) return 'cells'
  scan.add(left, 0, passages)
  return 'scan'
}

/** The rows in some places. */
function rowsIn(cells: CellsReader | undefined, places: Uint32Array): Uint32Array {
  if (cells !== undefined) for (let at = 0; at < places.length; at++) places[at] = cells.rowOf[places[at] ?? 0] ?? 0
  return places
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
  index: Pick<VectorIndex, 'vectors' | 'rows'>,
  query: Float32Array,
  rows: Uint32Array,
  kept: number,
): ScoredCandidates {
  return bestOf(index, scoredRows(index, query, rows), kept)
}

function scoredRows(
  { vectors }: Pick<VectorIndex, 'vectors'>,
  query: Float32Array,
  rows: Uint32Array,
): ScoredCandidates {
  const ids = rows.toSorted()
  return { ids, scores: vectors.cosines(ids, query) }
}

/** Those of the candidates that are among some rows. */
function among({ ids, scores }: ScoredCandidates, rows: Uint32Array): ScoredCandidates {
  const wanted = new Set(rows)
  return { ids: ids.filter((id) => wanted.has(id)), scores: scores.filter((_, at) => wanted.has(ids[at] ?? -1)) }
}

function bestOf(
  { rows: { chunkRanks } }: Pick<VectorIndex, 'rows'>,
  { ids, scores }: ScoredCandidates,
  kept: number,
): ScoredCandidates {
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
