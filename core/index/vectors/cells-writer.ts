import { evenlySpaced, rowBlocks, vectorBlocks } from './blocks.ts'
import type { VectorFile } from './blocks.ts'
import { RADIUS_MIN_SHARE } from './cells.ts'
import { buildGraph } from './graph.ts'
import type { BuiltGraph } from './graph.ts'

/** Cells per √rows. More cells are finer, but each has to be found and read on its own; see decision 0027. */
const CELLS_PER_ROOT = 4
/** Rows that a cell's first mean is learnt from, and the bytes of all of them. */
const SAMPLE_PER_CELL = 32
const SAMPLE_BYTES_MAX = 256 * 1024 * 1024
const ITERATIONS = 5

/** The rows of a version, divided into cells of near vectors. */
export interface Cells {
  /** First place of each cell in `rows`, and the end. */
  readonly starts: Uint32Array
  /** Row numbers, cell after cell, ascending within a cell. */
  readonly rows: Uint32Array
  /** The mean of each cell, concatenated. */
  readonly means: Float32Array
  /** See `cellsLayout`. */
  readonly radii: Float32Array
  /** Of the means less the mean of all rows. */
  readonly graph: BuiltGraph
}

/**
 * Divides the vectors of a version by spherical k-means (Dhillon & Modha 2001), learnt from a sample; a graph of the
 * means finds the nearest one. The same vectors give the same cells.
 */
export async function divide(file: VectorFile, pause: () => Promise<void>): Promise<Cells> {
  const { rows, dimensions } = file
  const wanted = Math.max(1, Math.round(CELLS_PER_ROOT * Math.sqrt(rows)))
  const learnt = buildGraph(await learn(file, wanted, pause), dimensions)
  const sums = new Float64Array(wanted * dimensions)
  const cellOf = new Uint32Array(rows)
  for await (const { firstRow, vectors } of vectorBlocks(file, pause)) {
    const nearest = learnt.assign(vectors)
    cellOf.set(nearest, firstRow)
    addTo(sums, vectors, nearest, dimensions)
  }
  return inOrder(cellOf, sums, dimensions)
}

async function learn(file: VectorFile, wanted: number, pause: () => Promise<void>): Promise<Float32Array> {
  const { dimensions } = file
  const most = Math.max(wanted, Math.floor(SAMPLE_BYTES_MAX / (dimensions * 4)))
  const sample = await sampled(file, Math.min(wanted * SAMPLE_PER_CELL, most), pause)
  const count = sample.length / dimensions
  let means = new Float32Array(wanted * dimensions)
  for (let cell = 0; cell < wanted; cell++) {
    const from = Math.floor((cell * count) / wanted) * dimensions
    means.set(sample.subarray(from, from + dimensions), cell * dimensions)
  }
  for (let iteration = 0; iteration < ITERATIONS; iteration++) {
    const graph = buildGraph(means, dimensions)
    const sums = new Float64Array(means.length)
    for (let from = 0; from < sample.length; from += PIECE_ROWS * dimensions) {
      await pause()
      const piece = sample.subarray(from, from + PIECE_ROWS * dimensions)
      addTo(sums, piece, graph.assign(piece), dimensions)
    }
    means = units(sums, dimensions, means)
  }
  return means
}

const PIECE_ROWS = 2_048

/** Evenly spaced rows, concatenated. */
async function sampled(file: VectorFile, count: number, pause: () => Promise<void>): Promise<Float32Array> {
  const rows = evenlySpaced(file.rows, count)
  const sample = new Float32Array(rows.length * file.dimensions)
  let filled = 0
  for await (const { vectors } of rowBlocks(file, rows, pause)) {
    sample.set(vectors, filled)
    filled += vectors.length
  }
  return sample
}

function addTo(sums: Float64Array, vectors: Float32Array, cellOf: Uint32Array, dimensions: number): void {
  for (const [at, cell] of cellOf.entries()) {
    const [from, to] = [at * dimensions, cell * dimensions]
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

/** Sorts rows by cell, leaves empty cells out, and makes the graph of the means. */
function inOrder(cellOf: Uint32Array, sums: Float64Array, dimensions: number): Cells {
  const sizes = new Uint32Array(sums.length / dimensions)
  for (const cell of cellOf) sizes[cell] = (sizes[cell] ?? 0) + 1
  const next = new Uint32Array(sizes.length)
  for (let cell = 1; cell < next.length; cell++) next[cell] = (next[cell - 1] ?? 0) + (sizes[cell - 1] ?? 0)
  const held = Uint32Array.from(sizes.keys()).filter((cell) => (sizes[cell] ?? 0) > 0)
  const starts = Uint32Array.from([...held.map((cell) => next[cell] ?? 0), cellOf.length])
  const rows = new Uint32Array(cellOf.length)
  for (const [row, cell] of cellOf.entries()) {
    const place = next[cell] ?? 0
    rows[place] = row
    next[cell] = place + 1
  }
  const mean = new Float64Array(dimensions)
  for (const [at, sum] of sums.entries()) mean[at % dimensions] = (mean[at % dimensions] ?? 0) + sum / rows.length
  const means = new Float32Array(held.length * dimensions)
  const points = new Float32Array(means.length)
  const radii = new Float32Array(held.length)
  for (const [at, cell] of held.entries()) {
    let squares = 0
    for (let d = 0; d < dimensions; d++) {
      const ofCell = (sums[cell * dimensions + d] ?? 0) / (sizes[cell] ?? 1)
      squares += ofCell * ofCell
      means[at * dimensions + d] = ofCell
      points[at * dimensions + d] = ofCell - (mean[d] ?? 0)
    }
    // The rows have unit length.
    radii[at] = Math.sqrt(Math.max(0, 1 - squares))
  }
  const least = (RADIUS_MIN_SHARE * radii.reduce((sum, radius) => sum + radius, 0)) / radii.length
  for (const [at, radius] of radii.entries()) radii[at] = Math.max(least, radius)
  return { starts, rows, means, radii, graph: buildGraph(points, dimensions) }
}
