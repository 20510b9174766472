import { join } from 'node:path'
import type { Manifest } from '#core/index/format/manifest.ts'
import { evenlySpaced, sampleVectors, vectorBlocks } from '#core/index/vectors/blocks.ts'
import { EMBEDDING_BOUNDS } from '#core/embedding/bounds.ts'
import { createPause } from '#core/platform/pause.ts'
import { EVALUATION_BOUNDS } from './bounds.ts'
import { embedQuestions, findRows, type AskContext } from './ask.ts'
import { fewRowsAt, FILTER_KINDS, SELECTIVITIES, TOP_K, measuredFilters } from './measured-filters.ts'
import type { FilterKind, MeasuredFilter } from './measured-filters.ts'
import { createInnerProducts } from '#core/index/vectors/inner-product.ts'
import { forEachConcurrently } from '#core/platform/for-each-concurrently.ts'

export interface FilteredMeasurement {
  readonly recall: FilteredRecall
  readonly questions: number
  /** Rows whose vectors were asked, because there are too few questions. */
  readonly sampledRows: number
  /** Selectivities that keep fewer than ten rows. */
  readonly fewRows: readonly string[]
}

type MeasuredArtifact = Pick<Manifest, 'passages' | 'embedding'> & { readonly folder: string }

/**
 * Measures filtered recall with evenly spaced questions; the vectors of evenly spaced rows fill them up.
 * @returns undefined for a version without vectors.
 */
export async function filteredRecallOf(
  artifact: MeasuredArtifact,
  questions: readonly { readonly text: string }[],
  context: AskContext,
): Promise<FilteredMeasurement | undefined> {
  const { passages, folder, embedding } = artifact
  if (embedding === undefined) return undefined
  const { dimensions } = embedding
  const asked = evenlySpaced(questions.length, EVALUATION_BOUNDS.filteredQueries)
  const vectors = await vectorsOf(
    Array.from(asked, (at) => questions[at]?.text ?? ''),
    context,
  )
  const file = { path: join(folder, 'vectors.f32'), rows: passages, dimensions }
  const sampled = await sampleVectors(
    file,
    EVALUATION_BOUNDS.filteredQueries - asked.length,
    createPause(context.signal),
  )
  const recall = await measureFilteredRecall({
    artifactFolder: folder,
    rows: passages,
    dimensions,
    queries: [...vectors, ...sampled],
    find: (query, onlyRows, limit) => findRows(query, onlyRows, limit, context),
    signal: context.signal,
    onProgress: context.onProgress,
  })
  return { recall, questions: asked.length, sampledRows: sampled.length, fewRows: fewRowsAt(passages) }
}

async function vectorsOf(texts: readonly string[], context: AskContext): Promise<readonly Float32Array[]> {
  const vectors: Float32Array[] = []
  for (let from = 0; from < texts.length; from += EMBEDDING_BOUNDS.embedBatchTexts) {
    const batch = texts
      .slice(from, from + EMBEDDING_BOUNDS.embedBatchTexts)
      .map((text) => ({ text, filters: undefined }))
    vectors.push(...(await embedQuestions(batch, context)))
  }
  return vectors
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
