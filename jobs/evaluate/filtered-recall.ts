import { closeSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { innerProductAt } from '#core/index/vectors/inner-product.ts'
import { openSized, readFully } from '#core/platform/file-reader.ts'
import { mulberry32 } from '#core/platform/seeded-random.ts'

/** Shares of the passages that a filter allows, in percent. */
export const SELECTIVITIES = ['100', '50', '10', '1', '0.1', '0.01'] as const
/**
 * Relation of a filter to the query. `random` keeps rows regardless of content; `near` keeps the rows nearest to the
 * query; `far` keeps the farthest rows. `far` excludes the query's neighbourhood, where filtered graph search fails.
 */
export const FILTER_KINDS = ['random', 'near', 'far'] as const
export type FilterKind = (typeof FILTER_KINDS)[number]
export type FilteredRecall = Readonly<Record<FilterKind, Readonly<Record<string, number>>>>

export const FILTERED_RECALL_MIN = 0.98
const TOP_K = 10
/** Similarities that differ by less than float32 precision count as equal. */
const TIE = 1e-6
const BLOCK_ROWS = 4_096

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
  readonly signal: AbortSignal
  readonly onProgress: (done: number, total: number) => void
}

/**
 * Measures recall@10 of the served search against exact float32 scoring of every allowed row, for filters of every kind
 * and selectivity. Each value is the mean over the queries. Where fewer than ten rows are allowed, recall refers to
 * those. The filters depend on query number and rows alone.
 */
export async function measureFilteredRecall(input: FilteredRecallInput): Promise<FilteredRecall> {
  const { queries, rows, signal } = input
  const sums = Object.fromEntries(
    FILTER_KINDS.map((kind) => [kind, Object.fromEntries(SELECTIVITIES.map((name) => [name, 0]))]),
  ) as Record<FilterKind, Record<string, number>>
  for (const [number, query] of queries.entries()) {
    const similarities = await similaritiesOf(input, query)
    const nearestFirst = Uint32Array.from(similarities.keys()).sort(
      (a, b) => (similarities[b] ?? 0) - (similarities[a] ?? 0) || a - b,
    )
    const shuffled = shuffledRows(rows, number)
    for (const selectivity of SELECTIVITIES) {
      const count = Math.max(1, Math.round((rows * Number(selectivity)) / 100))
      const allowed: Readonly<Record<FilterKind, Uint32Array>> = {
        random: shuffled.subarray(0, count),
        near: nearestFirst.subarray(0, count),
        far: nearestFirst.subarray(rows - count),
      }
      for (const kind of FILTER_KINDS) {
        signal.throwIfAborted()
        const bits = bitsetOf(allowed[kind], rows)
        const found = (await input.find(query, bits, TOP_K)).filter(
          (row) => ((bits[row >>> 3] ?? 0) & (1 << (row & 7))) !== 0,
        )
        sums[kind][selectivity] = (sums[kind][selectivity] ?? 0) + recallOf(found, allowed[kind], similarities)
      }
    }
    input.onProgress(number + 1, queries.length)
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

async function similaritiesOf(
  { artifactFolder, rows, dimensions, signal }: FilteredRecallInput,
  query: Float32Array,
): Promise<Float64Array> {
  const similarities = new Float64Array(rows)
  const file = openSized(join(artifactFolder, 'vectors.f32'), rows * dimensions * 4)
  try {
    const block = new Float32Array(BLOCK_ROWS * dimensions)
    for (let from = 0; from < rows; from += BLOCK_ROWS) {
      signal.throwIfAborted()
      const count = Math.min(BLOCK_ROWS, rows - from)
      readFully(file, new Uint8Array(block.buffer, 0, count * dimensions * 4), from * dimensions * 4)
      for (let row = 0; row < count; row++) similarities[from + row] = innerProductAt(block, row * dimensions, query)
      await nextTurn()
    }
  } finally {
    closeSync(file)
  }
  return similarities
}

/**
 * Returns the share of the ten best allowed rows (all, where there are fewer) that was found. A row as similar as the
 * tenth counts as found.
 */
function recallOf(found: readonly number[], allowed: Uint32Array, similarities: Float64Array): number {
  const wanted = Math.min(TOP_K, allowed.length)
  const best = new Float64Array(wanted).fill(-Infinity)
  for (const row of allowed) {
    const similarity = similarities[row] ?? 0
    if (similarity <= (best[0] ?? 0)) continue
    best[0] = similarity
    best.sort()
  }
  const least = (best[0] ?? 0) - TIE
  const right = [...new Set(found)].filter((row) => (similarities[row] ?? -Infinity) >= least)
  return Math.min(wanted, right.length) / wanted
}

function bitsetOf(rows: Uint32Array, total: number): Buffer {
  const bits = Buffer.alloc(Math.ceil(total / 8))
  for (const row of rows) bits[row >>> 3] = (bits[row >>> 3] ?? 0) | (1 << (row & 7))
  return bits
}

/** Returns all rows in a pseudo-random order (Fisher–Yates) that depends on the seed alone. */
function shuffledRows(rows: number, seed: number): Uint32Array {
  const random = mulberry32(seed)
  const order = Uint32Array.from({ length: rows }, (_, row) => row)
  for (let last = rows - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1))
    const row = order[last] ?? 0
    order[last] = order[other] ?? 0
    order[other] = row
  }
  return order
}
