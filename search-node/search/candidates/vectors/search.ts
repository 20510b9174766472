import { addRow, hasRow } from '#core/index/bitset.ts'
import type { VectorsReader } from '#core/index/format/reader.ts'
import type { IvfReader } from '#core/index/vectors/ivf-reader.ts'
import type { Sq4Scan } from '#core/index/vectors/sq4-scan.ts'
import { sq4Layout } from '#core/index/vectors/layout.ts'
import { createTopK } from '#core/index/top-k.ts'
import { SEARCH_NODE_BOUNDS } from '#search-node/bounds.ts'
import { listRows, type FilterBitset } from '#search-node/search/candidates/filter-bitset.ts'
import type { ScoredCandidates, VectorCandidates } from '#search-node/search/interfaces.ts'
import {
  IvfProbe,
  type ProbeQuery,
  exactRowsMax,
  FEW_ROWS_MAX,
  PLAN_COSTS,
  type PlanCosts,
  type QueryPlan,
} from './probe.ts'

/** What a search by vector uses of an index beside its vectors. */
export interface SearchedRows {
  readonly passages: number
  readonly rows: { readonly chunkRanks: Uint32Array }
}

export interface NearestRows extends VectorCandidates {
  readonly plan: QueryPlan
}

/** Share of the rows asked for that a reply shows at most. */
const SHOWN_SHARE = 0.5

/**
 * Finds the allowed rows nearest to the query: at least `limit`, or all if there are fewer; ascending. The same input
 * gives the same rows on every replica.
 * @param query unit length. @param rowsScoredMin the minimum of rows that are scored.
 */
export function nearestRows(
  index: SearchedRows,
  vectors: VectorsReader,
  query: Float32Array,
  allowed: FilterBitset,
  limit: number,
  rowsScoredMin: number,
  costs: PlanCosts = PLAN_COSTS,
): NearestRows {
  const kept = Math.max(limit, SEARCH_NODE_BOUNDS.predictorCandidatesMax)
  if (isFew(index.passages, allowed, exactRowsMax(index.passages, vectors.dimensions)))
    return { plan: 'exact', ...bestOf(index, scoredRows(vectors, query, listRows(allowed)), kept) }
  const scan = vectors.sq4.scan(query, { candidates: kept, threshold: Math.ceil(limit * SHOWN_SHARE) })
  const asked = { query, rowsScoredMin: Math.max(rowsScoredMin, kept), costs }
  const plan = scanAllowed(index.passages, vectors, scan, allowed, asked)
  const rows = scan.rows().map((position) => vectors.ivf.rows[position] ?? 0)
  return { plan, ...bestOf(index, scoredRows(vectors, query, rows), kept) }
}

/** Whether a filter leaves few rows, and out of more than these few: all rows of a small version are no few. */
function isFew(passages: number, { count }: FilterBitset, most: number): boolean {
  return count <= most && count <= passages / 2
}

/** Scans the SQ4 vectors of allowed rows, as far as they may be among the nearest. */
function scanAllowed(
  passages: number,
  { dimensions, ivf }: VectorsReader,
  scan: Sq4Scan,
  allowed: FilterBitset,
  asked: Pick<ProbeQuery, 'query' | 'rowsScoredMin' | 'costs'>,
): 'scan' | 'ivf' {
  const positions = positionsOf(ivf, allowed)
  const all = { rows: passages, allowed: allowed.count, rowBytes: sq4Layout(passages, dimensions).rowBytes }
  const left = isFew(passages, allowed, FEW_ROWS_MAX)
    ? positions
    : new IvfProbe(ivf, scan, { ...asked, positions, all }).run()
  if (left === undefined) return 'ivf'
  scan.add(left, 0, passages)
  return 'scan'
}

const positionsOfFilters = new WeakMap<FilterBitset, Uint32Array>()

function positionsOf({ rows }: IvfReader, allowed: FilterBitset): Uint32Array {
  if (allowed.count === rows.length) return allowed.bits
  const known = positionsOfFilters.get(allowed)
  if (known !== undefined) return known
  const positions = new Uint32Array(allowed.bits.length)
  for (let position = 0; position < rows.length; position++)
    if (hasRow(allowed.bits, rows[position] ?? 0)) addRow(positions, position)
  positionsOfFilters.set(allowed, positions)
  return positions
}

function scoredRows({ exact }: VectorsReader, query: Float32Array, rows: Uint32Array): ScoredCandidates {
  const ids = rows.toSorted()
  return { ids, scores: exact.cosines(ids, query) }
}

/** The best of the candidates; of equal ones those of the first chunk ids. */
export function bestOf(
  { rows: { chunkRanks } }: Pick<SearchedRows, 'rows'>,
  { ids, scores }: ScoredCandidates,
  kept: number,
): ScoredCandidates {
  if (ids.length <= kept) return { ids, scores }
  const ranks = new Uint32Array(ids.length)
  for (let at = 0; at < ids.length; at++) ranks[at] = chunkRanks[ids[at] ?? 0] ?? 0
  const top = createTopK(kept, ranks)
  for (let at = 0; at < ids.length; at++) top.offer(at, scores[at] ?? 0)
  const order = top.sorted().ids.sort()
  const best = { ids: new Uint32Array(kept), scores: new Float64Array(kept) }
  for (let index = 0; index < kept; index++) {
    const at = order[index] ?? 0
    best.ids[index] = ids[at] ?? 0
    best.scores[index] = scores[at] ?? 0
  }
  return best
}
