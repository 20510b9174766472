import { MetricKind, exactSearch } from 'usearch'
import { largest } from '#core/platform/top-k.ts'
import type { CellTable } from './cell-table.ts'
import { queriesOf } from './heads.ts'
import type { Heads } from './heads.ts'
import type { Reach } from './layout.ts'
import type { QuantizedVectors } from './nearest.ts'
import { gatherRows, strided } from './partition.ts'

/** Rows used as queries. */
const QUERIES = 192
const NEIGHBOURS = 10
/**
 * Minimum recall of rows used as queries: `near` with their own neighbourhood, `far` where filters exclude it. There
 * such rows are more extreme than queries are.
 */
const RECALL = { near: 0.998, far: 0.975 } as const
/** Values that are tried, smallest first. */
const REACHES = [2, 2.25, 2.5, 2.75, 3, 3.25, 3.5, 3.75, 4, 4.25, 4.5, 4.75, 5, 5.25, 5.5, 6, 7, 8] as const
const REACH_MAX = 10

interface SampledQuery {
  /** Inner products with the means of the cells. */
  readonly means: Float64Array
  /** The largest inner products with the heads of each cell. */
  readonly best: readonly Float32Array[]
  /** Euclidean length of the query's head. */
  readonly length: number
}

/**
 * Measures the reach of cells, in standard deviations, that finds the nearest rows. Sampled rows serve as queries:
 * without a filter (near), and with filters that exclude a query's own neighbourhood (far). In the latter case the
 * nearest rows are further from any mean.
 * @returns the smallest reaches with enough recall, and the share of all rows that an unfiltered query then scores.
 */
export async function measureReach(
  heads: Heads,
  vectors: QuantizedVectors,
  table: CellTable,
): Promise<{ readonly reach: Reach; readonly scoredShare: number }> {
  const sampledQueries = await askAll(vectors, table, queriesOf(heads, strided(table.rows.length, QUERIES)))
  const sizes = Array.from(
    { length: table.cells },
    (_, cell) => (table.starts[cell + 1] ?? 0) - (table.starts[cell] ?? 0),
  )
  const all = [...sizes.keys()]
  const open = sampledQueries.map((query) => caseOf(query, all))
  const aside = sampledQueries.map((query) =>
    caseOf(
      query,
      withoutNearest(query.means, sizes, 0.1).filter((cell) => cell % 2 === 0),
    ),
  )
  const opposite = sampledQueries.map((query) => caseOf(query, withoutNearest(query.means, sizes, 0.5)))
  const shortest = (cases: readonly Case[], recall: number): number =>
    REACHES.find((tried) => meanOf(cases.map((one) => walk(one, table.standardDeviations, tried).recall)) >= recall) ??
    REACH_MAX
  const near = shortest(open, RECALL.near)
  const far = Math.max(near, shortest(aside, RECALL.far), shortest(opposite, RECALL.far))
  const scored = open.map((one) =>
    walk(one, table.standardDeviations, near).visited.reduce((sum, cell) => sum + (sizes[cell] ?? 0), 0),
  )
  return { reach: { near, far }, scoredShare: meanOf(scored) / table.rows.length }
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** One query under one filter. */
interface Case {
  readonly query: SampledQuery
  /** The cells that the filter allows. */
  readonly cells: readonly number[]
  /** The inner product of the last row that must be found. */
  readonly last: number
}

function caseOf(query: SampledQuery, cells: readonly number[]): Case {
  const best = cells.flatMap((cell) => [...(query.best[cell] ?? [])])
  return { query, cells, last: largest(best, NEIGHBOURS).scores.at(-1) ?? -Infinity }
}

async function askAll(
  vectors: QuantizedVectors,
  { cells, starts, rows, means }: CellTable,
  queries: Int8Array,
): Promise<SampledQuery[]> {
  const { dimensions, threads, pause } = vectors
  const heads = Array.from({ length: queries.length / dimensions }, (_, at) =>
    queries.subarray(at * dimensions, (at + 1) * dimensions),
  )
  const best: Float32Array[][] = heads.map(() => [])
  for (let cell = 0; cell < cells; cell++) {
    const members = rows.subarray(starts[cell], starts[cell + 1])
    const taken = Math.min(NEIGHBOURS, members.length)
    const { distances } = exactSearch(gatherRows(vectors, members), queries, dimensions, taken, MetricKind.IP, threads)
    for (const [at, ofQuery] of best.entries())
      ofQuery.push(distances.slice(at * taken, (at + 1) * taken).map((distance) => 1 - distance))
    await pause()
  }
  return heads.map((head, at) => ({
    means: products(head, means),
    best: best[at] ?? [],
    length: Math.sqrt(head.reduce((sum, value) => sum + value * value, 0)),
  }))
}

function products(head: Int8Array, means: Float64Array): Float64Array {
  return Float64Array.from({ length: means.length / head.length }, (_, cell) => {
    let dot = 0
    for (let d = 0; d < head.length; d++) dot += (means[cell * head.length + d] ?? 0) * (head[d] ?? 0)
    return dot
  })
}

/** Returns the cells that remain after removing the nearest ones until a share of the rows is removed. */
function withoutNearest(means: Float64Array, sizes: readonly number[], share: number): number[] {
  const total = sizes.reduce((sum, size) => sum + size, 0)
  let gone = 0
  return [...sizes.keys()]
    .sort((a, b) => (means[b] ?? 0) - (means[a] ?? 0))
    .filter((cell) => {
      const kept = gone >= share * total
      gone += sizes[cell] ?? 0
      return kept
    })
}

/** Simulates `scoreCells` of the search node. */
function walk(
  { query: { means, best, length }, cells, last }: Case,
  standardDeviations: Float32Array,
  reach: number,
): { readonly recall: number; readonly visited: readonly number[] } {
  const bounds = means.map((mean, cell) => mean + reach * (standardDeviations[cell] ?? 0) * length)
  const visited: number[] = []
  let found: number[] = []
  for (const cell of cells.toSorted((a, b) => (bounds[b] ?? 0) - (bounds[a] ?? 0))) {
    const worst = found.length < NEIGHBOURS ? -Infinity : (found.at(-1) ?? -Infinity)
    if ((bounds[cell] ?? 0) <= worst) break
    visited.push(cell)
    const better = [...(best[cell] ?? [])].filter((product) => product > worst)
    if (better.length > 0) found = [...largest([...found, ...better], NEIGHBOURS).scores]
  }
  return { recall: found.filter((product) => product >= last).length / NEIGHBOURS, visited }
}
