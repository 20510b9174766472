import { join } from 'node:path'
import type { Manifest } from '#core/index/format/manifest.ts'
import { evenlySpaced, sampleVectors, vectorBlocks } from '#core/index/vectors/blocks.ts'
import { createPause } from '#core/platform/pause.ts'
import { EVALUATION_BOUNDS } from './bounds.ts'
import { embedQuestions, findRows, type AskContext } from './ask.ts'
import { mulberry32, randomOrder } from '#core/platform/seeded-random.ts'
import { createInnerProducts } from '#core/index/vectors/inner-product.ts'
import { forEachConcurrently } from '#core/platform/for-each-concurrently.ts'

/** Shares of the passages that a filter allows, in percent. */
export const SELECTIVITIES = ['100', '50', '10', '1', '0.1', '0.01'] as const
/**
 * Relation of a filter to the query. `random` keeps rows regardless of content; `near` keeps the rows nearest to the
 * query; `far` keeps the farthest rows. `far` excludes the query's neighbourhood, where a search of near rows fails.
 */
export const FILTER_KINDS = ['random', 'near', 'far'] as const
export type FilterKind = (typeof FILTER_KINDS)[number]
type Selectivity = (typeof SELECTIVITIES)[number]

/** Recall is measured at this depth. */
const TOP_K = 10

export type FilteredMeasurement = NonNullable<Awaited<ReturnType<typeof filteredRecallOf>>>

/**
 * Measures filtered recall with evenly spaced questions; the vectors of evenly spaced rows fill them up.
 * @returns undefined for a version without vectors.
 */
export async function filteredRecallOf(
  artifact: Pick<Manifest, 'passages' | 'embedding'> & { readonly folder: string },
  questions: readonly { readonly text: string }[],
  context: AskContext,
) {
  const { passages, folder, embedding } = artifact
  if (embedding === undefined) return undefined
  const { dimensions } = embedding
  const asked = evenlySpaced(questions.length, EVALUATION_BOUNDS.filteredQueries)
  const texts = Array.from(asked, (at) => ({ text: questions[at]?.text ?? '', filters: undefined }))
  const vectors = await embedQuestions(texts, context)
  const file = { path: join(folder, 'vectors.f32'), rows: passages, dimensions }
  const lacking = EVALUATION_BOUNDS.filteredQueries - asked.length
  const sampled = await sampleVectors(file, lacking, createPause(context.signal))
  const recall = await measureFilteredRecall({
    artifactFolder: folder,
    rows: passages,
    dimensions,
    queries: [...vectors, ...sampled],
    find: (query, onlyRows, limit) => findRows(query, onlyRows, limit, context),
    signal: context.signal,
    onProgress: context.onProgress,
  })
  // The vectors of sampled rows are asked because there are too few questions.
  return { recall, questions: asked.length, sampledRows: sampled.length, fewRows: fewRowsAt(passages) }
}

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

/** A filter for one query. Several kinds and selectivities of a small version are the same filter. */
interface MeasuredFilter {
  readonly names: readonly (readonly [FilterKind, Selectivity])[]
  /** Makes the bitset of the allowed rows: bit row % 8 of byte row / 8. */
  readonly bits: () => Buffer
  /** Best rows that a search has to find: ten, or all if fewer are allowed. */
  readonly wanted: number
  /** Similarity of the last of them. */
  readonly least: number
}

/** Number of rows that a filter allows, at least 1. */
function keptRowCount(rows: number, selectivity: Selectivity): number {
  return Math.max(1, Math.round((rows * Number(selectivity)) / 100))
}

/** Returns the selectivities that keep fewer rows than recall is measured for. */
function fewRowsAt(rows: number): readonly string[] {
  return SELECTIVITIES.filter((selectivity) => keptRowCount(rows, selectivity) < TOP_K)
}

/**
 * Returns the different filters of one query. They depend on the query's number and similarities alone; of equally
 * similar rows, the first count as nearer.
 * @param similarities of all rows with the query.
 */
function measuredFilters(similarities: Float32Array, queryNumber: number): readonly MeasuredFilter[] {
  const rows = similarities.length
  const ascending = similarities.toSorted()
  const shuffled = randomOrder(rows, mulberry32(queryNumber))
  const make = (kind: FilterKind, count: number): Omit<MeasuredFilter, 'names'> => {
    const wanted = Math.min(TOP_K, count)
    if (kind === 'near' || count === rows)
      return { wanted, least: ascending[rows - wanted] ?? 0, bits: () => nearestRows(similarities, ascending, count) }
    if (kind === 'far')
      return {
        wanted,
        least: ascending[count - wanted] ?? 0,
        bits: () => nearestRows(similarities, ascending, rows - count, true),
      }
    const allowed = shuffled.subarray(0, count)
    return { wanted, least: leastOfBest(allowed, wanted, similarities), bits: () => bitsetOf(allowed, rows) }
  }
  const filters = new Map<string, MeasuredFilter>()
  for (const selectivity of SELECTIVITIES) {
    const count = keptRowCount(rows, selectivity)
    for (const kind of FILTER_KINDS) {
      const key = count === rows ? 'all rows' : `${count} ${kind}`
      const filter = filters.get(key) ?? { ...make(kind, count), names: [] }
      filters.set(key, { ...filter, names: [...filter.names, [kind, selectivity]] })
    }
  }
  return [...filters.values()]
}

/** @param others true: all rows but the nearest. */
function nearestRows(similarities: Float32Array, ascending: Float32Array, count: number, others = false): Buffer {
  const { length: rows } = similarities
  const threshold = ascending[rows - count] ?? Infinity
  /** Rows as similar as the threshold that still fit. */
  let room = 0
  while (room < count && ascending[rows - count + room] === threshold) room++
  const bits = Buffer.alloc(Math.ceil(rows / 8))
  for (let row = 0; row < rows; row++) {
    const similarity = similarities[row] ?? 0
    const isNear = similarity > threshold || (similarity === threshold && room-- > 0)
    if (isNear !== others) bits[row >>> 3] = (bits[row >>> 3] ?? 0) | (1 << (row & 7))
  }
  return bits
}

function bitsetOf(rows: Uint32Array, total: number): Buffer {
  const bits = Buffer.alloc(Math.ceil(total / 8))
  for (const row of rows) bits[row >>> 3] = (bits[row >>> 3] ?? 0) | (1 << (row & 7))
  return bits
}

function leastOfBest(rows: Uint32Array, count: number, similarities: Float32Array): number {
  const best = new Float32Array(count).fill(-Infinity)
  for (const row of rows) {
    const similarity = similarities[row] ?? 0
    if (similarity <= (best[0] ?? 0)) continue
    best[0] = similarity
    best.sort()
  }
  return best[0] ?? 0
}
