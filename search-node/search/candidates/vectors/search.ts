import { hasRow } from '#core/index/facets/bitset.ts'
import type { CodesReader } from '#core/index/vectors/codes-reader.ts'
import { GRAPH_RECALL, INCOMPLETE_GRAPH_SCAN_MAX_MS } from '#core/index/vectors/graph.ts'
import type { GraphReader } from '#core/index/vectors/graph-reader.ts'
import { innerProductAt } from '#core/index/vectors/inner-product.ts'
import { codesLayout } from '#core/index/vectors/layout.ts'
import type { RowFile } from '#core/index/vectors/row-file.ts'
import { createTopK } from '#core/platform/top-k.ts'
import { listRows } from '#search-node/search/candidates/filter-bitset.ts'
import type { FilterBitset } from '#search-node/search/candidates/filter-bitset.ts'
import { EXACT_ROWS_MAX, PLAN_COSTS } from './query-plan.ts'
import type { PlanCosts, QueryPlan } from './query-plan.ts'

export interface VectorIndex {
  readonly passages: number
  readonly dimensions: number
  /** float32. */
  readonly vectors: RowFile
  readonly codes: CodesReader
  /** Undefined for a small version. */
  readonly graph: MeasuredGraph | undefined
  readonly rows: { readonly chunkRanks: Uint32Array }
}

export interface MeasuredGraph extends GraphReader {
  /** Rows that a search looks at, and the share of the true ten nearest that it then finds. */
  readonly expansion: number
  readonly recall: number
}

export interface NearestRows {
  readonly plan: QueryPlan
  /** Ascending; more than the limit if so many are allowed. */
  readonly ids: Uint32Array
  /** Cosines. */
  readonly scores: Float64Array
}

/**
 * Finds at least the `limit` allowed rows nearest to the query, or all if there are fewer. The same input gives the
 * same rows on every replica.
 * @param query unit length. @param expansionMin the minimum of rows that a search of the graph looks at.
 */
export function nearestRows(
  index: VectorIndex,
  query: Float32Array,
  allowed: FilterBitset,
  limit: number,
  expansionMin: number,
  costs: PlanCosts = PLAN_COSTS,
): NearestRows {
  if (allowed.count <= EXACT_ROWS_MAX) return { plan: 'exact', ...best(index, query, listRows(allowed), limit) }
  const near = index.graph && fromGraph(index, index.graph, query, allowed, limit, expansionMin, costs)
  if (near !== undefined) {
    const found = best(index, query, near, limit)
    if (!endsInTie(found.scores, limit)) return { plan: 'graph', ...found }
  }
  const rows = index.codes.nearest(query, allowed, keptOf(limit))
  return { plan: 'scan', ...best(index, query, rows, limit) }
}

/** The nearest third of the rows that a graph finds is as complete as its nearest ten (decision 0027). */
const COMPLETE_SHARE = 1 / 3
/** A second search looks at this many times the rows that the first one suggests. */
const SPARE = 1.3
const SEARCHES_MAX = 2

/**
 * Searches the graph, and once more with a wider search if the filter allows too few of the nearest rows.
 * @returns allowed rows, at least `limit` of them in the complete part; undefined where a scan costs less.
 */
function fromGraph(
  { passages, dimensions }: VectorIndex,
  graph: MeasuredGraph,
  query: Float32Array,
  { bits, count }: FilterBitset,
  limit: number,
  expansionMin: number,
  { scanNs, graphNs }: PlanCosts,
): Uint32Array | undefined {
  const ofScan = scanNs(passages, count, codesLayout(passages, dimensions).rowBytes)
  if (graph.recall < GRAPH_RECALL && ofScan <= INCOMPLETE_GRAPH_SCAN_MAX_MS * 1e6) return undefined
  let expansion = Math.max(graph.expansion, expansionMin, Math.ceil(limit / COMPLETE_SHARE))
  for (let search = 0; search < SEARCHES_MAX && graphNs(expansion, dimensions) <= ofScan; search++) {
    const found = graph.search(query, expansion)
    const rows = found.filter((row) => hasRow(bits, row))
    const complete = Math.floor(found.length * COMPLETE_SHARE)
    const near = found.subarray(0, complete).filter((row) => hasRow(bits, row)).length
    if (near >= limit) return rows
    if (found.length < expansion) return undefined
    expansion = Math.ceil(((limit * complete) / near / COMPLETE_SHARE) * SPARE)
  }
  return undefined
}

/** Rows that are kept for `limit` wanted ones; the fusion with words looks further than the vectors alone. */
function keptOf(limit: number): number {
  return 40 + Math.ceil(1.4 * limit)
}

/** Whether so many rows are equally near that rows which the graph did not find may be as near. */
function endsInTie(scores: Float64Array, limit: number): boolean {
  const nearestFirst = scores.toSorted().reverse()
  return scores.length >= limit && nearestFirst[limit - 1] === nearestFirst.at(-1)
}

/** Scores rows exactly and keeps the best of them; of equal ones those of the first chunk ids. */
function best(
  { vectors, rows: { chunkRanks } }: VectorIndex,
  query: Float32Array,
  rows: Uint32Array,
  limit: number,
): Pick<NearestRows, 'ids' | 'scores'> {
  const ids = rows.toSorted()
  const scores = cosines(vectors, ids, query)
  const kept = keptOf(limit)
  if (ids.length <= kept) return { ids, scores }
  const top = createTopK(kept)
  for (const [at, row] of ids.entries()) top.offer(chunkRanks[row] ?? 0, scores[at] ?? 0)
  const ranks = new Set(top.sorted().ids)
  const places = Uint32Array.from(ids.keys()).filter((at) => ranks.has(chunkRanks[ids[at] ?? 0] ?? 0))
  return { ids: places.map((at) => ids[at] ?? 0), scores: Float64Array.from(places, (at) => scores[at] ?? 0) }
}

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
