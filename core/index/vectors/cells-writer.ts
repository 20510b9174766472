import { MetricKind, exactSearch } from 'usearch'
import type { CellTable } from './cell-table.ts'
import { shortestHeads, wholeHeads } from './heads.ts'
import type { Heads } from './heads.ts'
import { cellsLayout } from './layout.ts'
import type { Reach } from './layout.ts'
import { lowWords, sumsByMember } from './nearest.ts'
import type { QuantizedVectors } from './nearest.ts'
import { gatherRows, partition, strided, units } from './partition.ts'
import { quantizeTogether } from './quantize.ts'
import { measureReach } from './reach.ts'

/** Below this number of rows, scoring all vectors takes two milliseconds, so a division is not worth the build time. */
const DIVIDED_FROM_ROWS = 16_384
/** Number of cells per √rows. More cells are finer, but every search compares the query with the mean of each. */
const CELLS_PER_ROOT = 2
/**
 * If an unfiltered query scores a larger share of rows, cells cost more than they save. Vectors without clusters, such
 * as hashed words, are an example.
 */
const SCORED_SHARE_MAX = 0.4
/** Directions along which standard deviations are measured. */
const PROBES = 64
const PROBE_BATCH_ROWS = 2_000
/** Weight of the prior in rows: a small cell's standard deviation is shrunk towards the pooled one. */
const PRIOR_ROWS = 4

export interface WrittenCells {
  readonly cells: number
  readonly reach: Reach
  /** Length of a head. */
  readonly head: number
  /** `cells.bin`. */
  readonly table: Uint8Array
  /** `vectors.i8`, in pieces. */
  readonly slots: () => Iterable<Uint8Array>
}

/**
 * Finds the shortest heads, divides the rows into cells by them, and measures the cells' statistics for the search.
 * @param dividedFrom minimum number of rows; below it heads are whole vectors and all rows form one cell.
 */
export async function buildCells(
  vectors: QuantizedVectors,
  dividedFrom: number = DIVIDED_FROM_ROWS,
): Promise<WrittenCells> {
  const many = vectors.values.length / vectors.dimensions >= dividedFrom
  const heads = many ? await shortestHeads(vectors) : await wholeHeads(vectors)
  const { table, reach } = await divide(heads, vectors, many)
  return {
    cells: table.cells,
    reach,
    head: heads.length,
    table: encode(table, heads, vectors.dimensions),
    slots: () => slotPieces(heads, table.rows),
  }
}

async function divide(
  heads: Heads,
  { threads, pause }: QuantizedVectors,
  many: boolean,
): Promise<{ readonly table: CellTable; readonly reach: Reach }> {
  const vectors = { values: heads.values, dimensions: heads.length, threads, pause }
  const rows = heads.values.length / heads.length
  if (many) {
    const { cellOf, cells } = await partition(vectors, Math.round(CELLS_PER_ROOT * Math.sqrt(rows)))
    const table = await describe(vectors, cellOf, cells)
    const { reach, scoredShare } = await measureReach(heads, vectors, table)
    if (scoredShare <= SCORED_SHARE_MAX) return { table, reach }
  }
  return { table: await describe(vectors, new Uint32Array(rows), 1), reach: { near: 1, far: 1 } }
}

async function describe(vectors: QuantizedVectors, cellOf: Uint32Array, cells: number): Promise<CellTable> {
  const starts = new Uint32Array(cells + 1)
  for (const cell of cellOf) starts[cell + 1] = (starts[cell + 1] ?? 0) + 1
  for (let cell = 0; cell < cells; cell++) starts[cell + 1] = (starts[cell + 1] ?? 0) + (starts[cell] ?? 0)
  const next = starts.slice()
  const rows = new Uint32Array(cellOf.length)
  for (const [row, cell] of cellOf.entries()) {
    const slot = next[cell] ?? 0
    rows[slot] = row
    next[cell] = slot + 1
  }
  const sums = sumsByMember(vectors, new Float64Array(rows.length).fill(1), cellOf, cells)
  const means = sums.map((value, at) => value / sizeOf(starts, Math.floor(at / vectors.dimensions)))
  return { cells, starts, rows, means, standardDeviations: await standardDeviationsOf(vectors, cellOf, starts, means) }
}

function sizeOf(starts: Uint32Array, cell: number): number {
  return (starts[cell + 1] ?? 0) - (starts[cell] ?? 0)
}

/**
 * Measures along the means of other cells, because queries have such directions. An average over all directions would
 * be too small.
 */
async function standardDeviationsOf(
  vectors: QuantizedVectors,
  cellOf: Uint32Array,
  starts: Uint32Array,
  means: Float64Array,
): Promise<Float32Array> {
  const { values, dimensions, threads, pause } = vectors
  const cells = starts.length - 1
  const chosen = strided(cells, PROBES)
  const directions = units(
    Float64Array.from(
      { length: chosen.length * dimensions },
      (_, at) => means[(chosen[Math.floor(at / dimensions)] ?? 0) * dimensions + (at % dimensions)] ?? 0,
    ),
    dimensions,
  )
  const { quantized, scale } = quantizeTogether(directions)
  const probes = chosen.length
  const sums = new Float64Array(cells * probes)
  const squares = new Float64Array(cells)
  for (let row = 0; row < cellOf.length; row += PROBE_BATCH_ROWS) {
    const batch = values.slice(row * dimensions, (row + PROBE_BATCH_ROWS) * dimensions)
    const { keys, distances } = exactSearch(quantized, batch, dimensions, probes, MetricKind.IP, threads)
    for (const [at, probe] of lowWords(keys).entries()) {
      const member = row + Math.floor(at / probes)
      const cell = cellOf[member] ?? 0
      const along = (1 - (distances[at] ?? 0)) / scale
      sums[cell * probes + probe] = (sums[cell * probes + probe] ?? 0) + along
      squares[cell] = (squares[cell] ?? 0) + along * along
    }
    await pause()
  }
  return shrunk(squares, sums, starts, probes)
}

function shrunk(squares: Float64Array, sums: Float64Array, starts: Uint32Array, probes: number): Float32Array {
  const deviations = squares.map((total, cell) => {
    const size = sizeOf(starts, cell)
    let ofMeans = 0
    for (let at = cell * probes; at < (cell + 1) * probes; at++) ofMeans += (sums[at] ?? 0) ** 2 / size
    return Math.max(0, total - ofMeans) / probes
  })
  const pooled = deviations.reduce((sum, value) => sum + value, 0) / (starts.at(-1) ?? 1)
  return Float32Array.from(deviations, (deviation, cell) =>
    Math.sqrt((deviation + PRIOR_ROWS * pooled) / (sizeOf(starts, cell) + PRIOR_ROWS)),
  )
}

function encode(
  { cells, starts, rows, means, standardDeviations }: CellTable,
  { length, directions }: Heads,
  dimensions: number,
): Uint8Array {
  const layout = cellsLayout(rows.length, dimensions, { cells, head: length })
  const { quantized, scale } = quantizeTogether(means)
  const bytes = new Uint8Array(layout.bytes)
  bytes.set(new Uint8Array(Float64Array.of(scale).buffer))
  bytes.set(new Uint8Array(starts.buffer), layout.startsOffset)
  bytes.set(new Uint8Array(standardDeviations.buffer), layout.standardDeviationsOffset)
  bytes.set(new Uint8Array(rows.buffer), layout.rowsOffset)
  bytes.set(new Uint8Array(directions.buffer), layout.directionsOffset)
  bytes.set(new Uint8Array(quantized.buffer), layout.meansOffset)
  return bytes
}

function* slotPieces({ values, length }: Heads, rows: Uint32Array): Generator<Uint8Array> {
  for (let slot = 0; slot < rows.length; slot += PROBE_BATCH_ROWS)
    yield new Uint8Array(
      gatherRows({ values, dimensions: length }, rows.subarray(slot, slot + PROBE_BATCH_ROWS)).buffer,
    )
}
