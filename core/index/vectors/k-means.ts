import { evenlySpaced, vectorBlocks, type VectorFile } from './blocks.ts'
import { RADIUS_MIN_SHARE } from './ivf-layout.ts'
import { buildGraph, type BuiltGraph } from './graph.ts'

/** Lists per √rows. More lists are finer, but each has to be found and read on its own; see decision 0027. */
const LISTS_PER_ROOT = 4
/** Rows of the sample for each list, and the bytes of all of them. */
const SAMPLE_PER_LIST = 32
const SAMPLE_BYTES_MAX = 256 * 1024 * 1024
const ITERATIONS = 5

/** The rows of a version, divided into IVF lists of near vectors. */
export interface IvfLists {
  /** First position of each list in `rows`, and the end. */
  readonly starts: Uint32Array
  /** Row numbers, list after list, ascending within a list. */
  readonly rows: Uint32Array
  /** Concatenated. */
  readonly centroids: Float32Array
  /** See `ivfLayout`. */
  readonly radii: Float32Array
  /** Graph over the centroids. The mean of all rows is subtracted from each centroid. */
  readonly graph: BuiltGraph
}

/**
 * Divides the vectors of a version by spherical k-means (Dhillon & Modha 2001), trained on a sample; a graph of the
 * centroids finds the nearest one. The same vectors give the same lists.
 */
export async function buildIvfLists(file: VectorFile, pause: () => Promise<void>): Promise<IvfLists> {
  const { rows, dimensions } = file
  const wanted = Math.min(rows, Math.max(1, Math.round(LISTS_PER_ROOT * Math.sqrt(rows))))
  const trained = buildGraph(await train(file, wanted, pause), dimensions)
  const sums = new Float64Array(wanted * dimensions)
  const listOf = new Uint32Array(rows)
  for await (const { firstRow, vectors } of vectorBlocks(file, pause)) {
    const nearest = trained.assign(vectors)
    listOf.set(nearest, firstRow)
    addTo(sums, vectors, nearest, dimensions)
  }
  return inOrder(listOf, sums, dimensions)
}

async function train(file: VectorFile, wanted: number, pause: () => Promise<void>): Promise<Float32Array> {
  const { dimensions } = file
  const most = Math.max(wanted, Math.floor(SAMPLE_BYTES_MAX / (dimensions * 4)))
  const sample = await sampled(file, Math.min(wanted * SAMPLE_PER_LIST, most), pause)
  const count = sample.length / dimensions
  let centroids = new Float32Array(wanted * dimensions)
  for (let at = 0; at < wanted; at++) {
    const from = Math.floor((at * count) / wanted) * dimensions
    centroids.set(sample.subarray(from, from + dimensions), at * dimensions)
  }
  for (let iteration = 0; iteration < ITERATIONS; iteration++) {
    const graph = buildGraph(centroids, dimensions)
    const sums = new Float64Array(centroids.length)
    for (let from = 0; from < sample.length; from += PIECE_ROWS * dimensions) {
      await pause()
      const piece = sample.subarray(from, from + PIECE_ROWS * dimensions)
      addTo(sums, piece, graph.assign(piece), dimensions)
    }
    centroids = units(sums, dimensions, centroids)
  }
  return centroids
}

const PIECE_ROWS = 2_048

/** Evenly spaced rows, concatenated. */
async function sampled(file: VectorFile, count: number, pause: () => Promise<void>): Promise<Float32Array> {
  const rows = evenlySpaced(file.rows, count)
  const sample = new Float32Array(rows.length * file.dimensions)
  let filled = 0
  for await (const { vectors } of vectorBlocks(file, pause, rows)) {
    sample.set(vectors, filled)
    filled += vectors.length
  }
  return sample
}

function addTo(sums: Float64Array, vectors: Float32Array, listOf: Uint32Array, dimensions: number): void {
  for (const [at, each] of listOf.entries()) {
    const [from, to] = [at * dimensions, each * dimensions]
    for (let d = 0; d < dimensions; d++) sums[to + d] = (sums[to + d] ?? 0) + (vectors[from + d] ?? 0)
  }
}

/** Scales sums to unit length. A zero sum keeps its value in `before`. */
function units(sums: Float64Array, dimensions: number, before: Float32Array): Float32Array<ArrayBuffer> {
  const scaled = new Float32Array(sums.length)
  for (let at = 0; at < sums.length; at += dimensions) {
    let squares = 0
    for (let d = at; d < at + dimensions; d++) squares += (sums[d] ?? 0) ** 2
    for (let d = at; d < at + dimensions; d++)
      scaled[d] = squares === 0 ? (before[d] ?? 0) : (sums[d] ?? 0) / Math.sqrt(squares)
  }
  return scaled
}

/** Sorts rows by list, leaves empty lists out, and makes the graph of the centroids. */
function inOrder(listOf: Uint32Array, sums: Float64Array, dimensions: number): IvfLists {
  const sizes = new Uint32Array(sums.length / dimensions)
  for (const each of listOf) sizes[each] = (sizes[each] ?? 0) + 1
  const next = new Uint32Array(sizes.length)
  for (let at = 1; at < next.length; at++) next[at] = (next[at - 1] ?? 0) + (sizes[at - 1] ?? 0)
  const held = Uint32Array.from(sizes.keys()).filter((each) => (sizes[each] ?? 0) > 0)
  const starts = Uint32Array.from([...held.map((each) => next[each] ?? 0), listOf.length])
  const rows = new Uint32Array(listOf.length)
  for (const [row, each] of listOf.entries()) {
    const position = next[each] ?? 0
    rows[position] = row
    next[each] = position + 1
  }
  const mean = new Float64Array(dimensions)
  for (const [at, sum] of sums.entries()) mean[at % dimensions] = (mean[at % dimensions] ?? 0) + sum / rows.length
  const centroids = new Float32Array(held.length * dimensions)
  const points = new Float32Array(centroids.length)
  const radii = new Float32Array(held.length)
  for (const [at, each] of held.entries()) {
    let squares = 0
    for (let d = 0; d < dimensions; d++) {
      const value = (sums[each * dimensions + d] ?? 0) / (sizes[each] ?? 1)
      squares += value * value
      centroids[at * dimensions + d] = value
      points[at * dimensions + d] = value - (mean[d] ?? 0)
    }
    // The rows have unit length.
    radii[at] = Math.sqrt(Math.max(0, 1 - squares))
  }
  const least = (RADIUS_MIN_SHARE * radii.reduce((sum, radius) => sum + radius, 0)) / radii.length
  for (const [at, radius] of radii.entries()) radii[at] = Math.max(least, radius)
  return { starts, rows, centroids, radii, graph: buildGraph(points, dimensions) }
}
