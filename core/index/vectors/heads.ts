import { MetricKind, exactSearch } from 'usearch'
import { covarianceOf, leadingDirections } from './basis.ts'
import { createTopK } from '#core/platform/top-k.ts'
import { inverseLengths, lowWords } from './nearest.ts'
import type { QuantizedVectors } from './nearest.ts'
import { gatherRows, strided } from './partition.ts'
import { quantizeTogether } from './quantize.ts'

/**
 * Head lengths that are tried, shortest first, with the minimum share of variance for measuring the recall. A head of
 * more than half of the dimensions saves too little.
 */
const HEADS_TRIED = [
  { length: 64, shareMin: 0.4 },
  { length: 128, shareMin: 0.5 },
  { length: 256, shareMin: 0.5 },
] as const
const BASIS_SAMPLE_ROWS = 2_048
const SCALE_SAMPLE_ROWS = 16_384
const BATCH_ROWS = 1_000
/** Sampled rows used as queries when the recall of a head is measured. */
const SAMPLED_QUERIES = 48
const NEIGHBOURS = 10
/** Minimum recall of the true ten nearest rows among the candidates. */
const RECALL_MIN = 0.995

/**
 * Number of candidates that are rescored in float32 for the `limit` nearest. Heads alone do not give the exact order.
 */
export function candidatesOf(limit: number): number {
  return 40 + Math.ceil(1.4 * limit)
}

/**
 * Heads of vectors: their components along the directions of largest variance, minus the common mean, int8 in one
 * scale. The inner product of a query with a head orders rows nearly as the cosine does, at a fraction of the bytes.
 */
export interface Heads {
  /** Concatenated, `length` each. */
  readonly values: Int8Array
  readonly length: number
  /** length × dimensions, float32: projects a query to its head; empty where the head is the whole vector. */
  readonly directions: Float32Array
  /** The common mean along the directions, in the scale of the values. */
  readonly mean: Float64Array
}

/** Returns the shortest heads whose candidates reach RECALL_MIN. */
export async function shortestHeads(vectors: QuantizedVectors): Promise<Heads> {
  const { dimensions, pause } = vectors
  const sample = sampleOf(vectors)
  const tried = HEADS_TRIED.filter(({ length }) => length * 2 <= dimensions)
  if (tried.length === 0) return whole(vectors, sample)
  const covariance = covarianceOf(sample, dimensions)
  let truth: Truth | undefined
  for (const { length, shareMin } of tried) {
    await pause()
    const { directions, share } = leadingDirections(covariance, length)
    if (share < shareMin) continue
    const heads = await along(vectors, covariance.mean, directions)
    truth ??= await nearestByVector(vectors)
    if ((await recallOf(heads, truth, vectors)) >= RECALL_MIN) return heads
  }
  return whole(vectors, sample)
}

/** Returns heads as long as the vectors. */
export function wholeHeads(vectors: QuantizedVectors): Promise<Heads> {
  return whole(vectors, sampleOf(vectors))
}

function sampleOf(vectors: QuantizedVectors): Float32Array {
  const { values, dimensions } = vectors
  return unitsOf({ values: gatherRows(vectors, strided(values.length / dimensions, BASIS_SAMPLE_ROWS)), dimensions })
}

/** float32 unit vectors. */
function unitsOf({ values, dimensions }: Pick<QuantizedVectors, 'values' | 'dimensions'>): Float32Array {
  const inverse = inverseLengths(values, dimensions)
  return Float32Array.from(values, (value, at) => value * (inverse[Math.floor(at / dimensions)] ?? 0))
}

async function along(vectors: QuantizedVectors, mean: Float64Array, directions: Float64Array): Promise<Heads> {
  const { values, dimensions, pause } = vectors
  const rows = values.length / dimensions
  const length = directions.length / dimensions
  const common = Float64Array.from({ length }, (_, at) => {
    let sum = 0
    for (let d = 0; d < dimensions; d++) sum += (mean[d] ?? 0) * (directions[at * dimensions + d] ?? 0)
    return sum
  })
  const project = projector(vectors, directions, common)
  const scale = scaleOf(project(gatherRows(vectors, strided(rows, SCALE_SAMPLE_ROWS))))
  const heads = new Int8Array(rows * length)
  for (let row = 0; row < rows; row += BATCH_ROWS) {
    const projected = project(values.slice(row * dimensions, (row + BATCH_ROWS) * dimensions))
    for (let at = 0; at < projected.length; at++) heads[row * length + at] = rounded((projected[at] ?? 0) * scale)
    await pause()
  }
  return {
    values: heads,
    length,
    directions: Float32Array.from(directions),
    mean: common.map((value) => value * scale),
  }
}

/**
 * Computes all inner products in one native call. It also sorts them, which still costs less than computing them here.
 */
function projector(
  { dimensions, threads }: QuantizedVectors,
  directions: Float64Array,
  common: Float64Array,
): (batch: Int8Array) => Float64Array {
  const { quantized, scale } = quantizeTogether(directions)
  const length = common.length
  return (batch) => {
    const inverse = inverseLengths(batch, dimensions)
    const { keys, distances } = exactSearch(quantized, batch, dimensions, length, MetricKind.IP, threads)
    const projected = new Float64Array(distances.length)
    const low = lowWords(keys)
    for (let at = 0; at < low.length; at++) {
      const row = Math.floor(at / length)
      const direction = low[at] ?? 0
      projected[row * length + direction] =
        ((1 - (distances[at] ?? 0)) * (inverse[row] ?? 0)) / scale - (common[direction] ?? 0)
    }
    return projected
  }
}

function scaleOf(projected: Float64Array): number {
  let largest = 0
  for (const value of projected) largest = Math.max(largest, Math.abs(value))
  return largest === 0 ? 1 : 127 / largest
}

function rounded(value: number): number {
  return Math.max(-127, Math.min(127, Math.round(value)))
}

/** Returns heads that are the vectors themselves, minus their mean. */
async function whole({ values, dimensions, pause }: QuantizedVectors, sample: Float32Array): Promise<Heads> {
  const mean = new Float64Array(dimensions)
  for (const [at, value] of sample.entries())
    mean[at % dimensions] = (mean[at % dimensions] ?? 0) + (value * dimensions) / sample.length
  const scale = scaleOf(Float64Array.from(sample, (value, at) => value - (mean[at % dimensions] ?? 0)))
  const heads = new Int8Array(values.length)
  for (let from = 0; from < values.length; from += BATCH_ROWS * dimensions) {
    const batch = values.subarray(from, from + BATCH_ROWS * dimensions)
    const inverse = inverseLengths(batch, dimensions)
    for (let at = 0; at < batch.length; at++)
      heads[from + at] = rounded(
        ((batch[at] ?? 0) * (inverse[Math.floor(at / dimensions)] ?? 0) - (mean[at % dimensions] ?? 0)) * scale,
      )
    await pause()
  }
  return {
    values: heads,
    length: dimensions,
    directions: new Float32Array(0),
    mean: mean.map((value) => value * scale),
  }
}

interface Truth {
  readonly sampledQueries: Uint32Array
  /** The nearest rows of each sampled query. */
  readonly nearest: readonly Uint32Array[]
}

async function nearestByVector(vectors: QuantizedVectors): Promise<Truth> {
  const sampledQueries = strided(vectors.values.length / vectors.dimensions, SAMPLED_QUERIES)
  const nearest = await nearestRows(vectors, gatherRows(vectors, sampledQueries), MetricKind.Cos, NEIGHBOURS)
  return { sampledQueries, nearest }
}

async function recallOf(
  heads: Heads,
  { sampledQueries, nearest }: Truth,
  { threads, pause }: QuantizedVectors,
): Promise<number> {
  const { values, length } = heads
  const found = await nearestRows(
    { values, dimensions: length, threads, pause },
    queriesOf(heads, sampledQueries),
    MetricKind.IP,
    candidatesOf(NEIGHBOURS),
  )
  const shares = nearest.map((rows, at) => {
    const candidates = new Set(found[at])
    return rows.filter((row) => candidates.has(row)).length / rows.length
  })
  return shares.reduce((sum, share) => sum + share, 0) / shares.length
}

/**
 * Returns rows as queries. The common mean is added, because a query's head contains it. Each query has its own scale.
 */
export function queriesOf({ values, length, mean }: Heads, rows: Uint32Array): Int8Array<ArrayBuffer> {
  const queries = new Int8Array(rows.length * length)
  for (const [at, row] of rows.entries()) {
    const query = Float64Array.from(mean, (value, d) => value + (values[row * length + d] ?? 0))
    queries.set(quantizeTogether(query).quantized, at * length)
  }
  return queries
}

/**
 * Compares every row with every query.
 * @returns the rows of each query, nearest first.
 */
async function nearestRows(
  vectors: QuantizedVectors,
  queries: Int8Array,
  metric: MetricKind,
  wanted: number,
): Promise<Uint32Array[]> {
  const { values, dimensions, threads, pause } = vectors
  const best = Array.from({ length: queries.length / dimensions }, () => createTopK(wanted))
  const rows = values.length / dimensions
  for (let from = 0; from < rows; from += BATCH_ROWS) {
    const batch = values.slice(from * dimensions, (from + BATCH_ROWS) * dimensions)
    const taken = Math.min(wanted, batch.length / dimensions)
    const { keys, distances } = exactSearch(batch, queries, dimensions, taken, metric, threads)
    const low = lowWords(keys)
    for (const [query, near] of best.entries())
      for (let at = query * taken; at < (query + 1) * taken; at++)
        near.offer(from + (low[at] ?? 0), -(distances[at] ?? 0))
    await pause()
  }
  return best.map((near) => near.sorted().ids)
}
