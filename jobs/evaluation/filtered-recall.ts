import { join } from 'node:path'
import { vectorBlocks } from '#core/index/vectors/blocks.ts'
import { createInnerProducts } from '#core/index/vectors/inner-product.ts'
import { EVALUATION_BOUNDS } from '#jobs/evaluation/bounds.ts'
import { forEachConcurrently } from '#core/platform/for-each-concurrently.ts'
import { createPause } from '#core/platform/pause.ts'
import { FILTER_KINDS, SELECTIVITIES, TOP_K, measuredFilters } from './measured-filters.ts'
import type { FilterKind, MeasuredFilter } from './measured-filters.ts'

export type FilteredRecall = Readonly<Record<FilterKind, Readonly<Record<string, number>>>>

export const FILTERED_RECALL_MIN = 0.98
/** Similarities that differ by less than float32 precision count as equal. */
const TIE = 1e-6

export interface FilteredRecallInput {
  readonly artifactFolder: string
  readonly rows: number
  readonly dimensions: number
  /** Unit length. */
  readonly queries: readonly Float32Array[]
  /**
   * Returns the rows that a search node finds by the vector alone among those of a filter bitset, best first. A row is
   * bit row % 8 of byte row / 8.
   */
  readonly find: (query: Float32Array, onlyRows: Buffer, limit: number) => Promise<readonly number[]>
  /** Bound of the similarities that one pass over the vectors computes, if not the default. */
  readonly similaritiesBytesMax?: number
  readonly signal: AbortSignal
  readonly onProgress: (done: number, total: number) => void
}

/**
 * Measures recall@10 of the served search against exact float32 scoring of every allowed row, for filters of every kind
 * and selectivity. Each value is the mean over the queries. Where fewer than ten rows are allowed, recall refers to
 * those. Filters that are the same are asked once. The file of vectors is read once for several queries.
 */
export async function measureFilteredRecall(input: FilteredRecallInput): Promise<FilteredRecall> {
  const { queries, rows } = input
  const zeros = (): Record<string, number> => Object.fromEntries(SELECTIVITIES.map((name) => [name, 0]))
  const sums: Record<FilterKind, Record<string, number>> = { random: zeros(), near: zeros(), far: zeros() }
  const { similaritiesBytesMax = EVALUATION_BOUNDS.filteredSimilaritiesBytesMax } = input
  const together = Math.max(1, Math.floor(similaritiesBytesMax / (rows * 4)))
  for (let from = 0; from < queries.length; from += together) {
    const group = queries.slice(from, from + together)
    const similarities = await similaritiesOf(input, group)
    for (const [at, query] of group.entries()) {
      await addRecall(input, query, from + at, similarities[at] ?? new Float32Array(0), sums)
      input.onProgress(from + at + 1, queries.length)
    }
  }
  for (const kind of FILTER_KINDS)
    for (const name of SELECTIVITIES) sums[kind][name] = (sums[kind][name] ?? 0) / Math.max(1, queries.length)
  return sums
}

/** Returns the lowest recall over the kinds of filter, by selectivity. */
export function leastRecall(recall: FilteredRecall): Readonly<Record<string, number>> {
  return Object.fromEntries(
    SELECTIVITIES.map((name) => [name, Math.min(...FILTER_KINDS.map((kind) => recall[kind][name] ?? 0))]),
  )
}

/** The similarities of every row with each of some queries. */
async function similaritiesOf(
  { artifactFolder, rows, dimensions, signal }: FilteredRecallInput,
  queries: readonly Float32Array[],
): Promise<readonly Float32Array[]> {
  const similarities = createInnerProducts(queries, () => new Float32Array(rows))
  const file = { path: join(artifactFolder, 'vectors.f32'), rows, dimensions }
  for await (const { firstRow, vectors } of vectorBlocks(file, createPause(signal))) similarities.add(vectors, firstRow)
  return similarities.products
}

async function addRecall(
  { find, signal }: FilteredRecallInput,
  query: Float32Array,
  queryNumber: number,
  similarities: Float32Array,
  sums: Record<FilterKind, Record<string, number>>,
): Promise<void> {
  await forEachConcurrently(
    measuredFilters(similarities, queryNumber),
    EVALUATION_BOUNDS.evaluationConcurrency,
    async (filter) => {
      const bits = filter.bits()
      const found = await find(query, bits, TOP_K)
      const recall = recallOf(found, bits, filter, similarities)
      for (const [kind, selectivity] of filter.names) sums[kind][selectivity] = (sums[kind][selectivity] ?? 0) + recall
    },
    signal,
  )
}

/** Returns the share of the wanted rows that was found. A row as similar as the last of them counts as found. */
function recallOf(
  found: readonly number[],
  bits: Buffer,
  { wanted, least }: MeasuredFilter,
  similarities: Float32Array,
): number {
  const right = [...new Set(found)].filter(
    (row) => ((bits[row >>> 3] ?? 0) & (1 << (row & 7))) !== 0 && (similarities[row] ?? -Infinity) >= least - TIE,
  )
  return Math.min(wanted, right.length) / wanted
}
