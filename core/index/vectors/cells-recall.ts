import { join } from 'node:path'
import { bitsetWords } from '#core/platform/bitset.ts'
import { largest } from '#core/platform/top-k.ts'
import { sampleVectors } from './blocks.ts'
import type { VectorFile } from './blocks.ts'
import { CELLS_RECALL, DEPTHS, REACHED } from './cells.ts'
import type { CellsDescription } from './cells.ts'
import type { Cells } from './cells-writer.ts'
import { createCellFinder, finderPoints, finderQuery } from './cell-finder.ts'
import type { CellFinder } from './cell-finder.ts'
import { scatterNear } from './cell-scatter.ts'
import { openCodes } from './codes-reader.ts'
import type { CodesReader } from './codes-reader.ts'
import { cosines } from './cosines.ts'
import { innerProductAt } from './inner-product.ts'
import { openRowFile } from './row-file.ts'
import type { RowFile } from './row-file.ts'

/** Sampled rows fill up the queries to this number. */
const QUERIES_MIN = 200
const QUERIES_MAX = 400
const DEEPEST = DEPTHS[2]
/**
 * Under a filter that excludes the nearest rows, the wanted ones lie in cells that are all about as near. Of normally
 * distributed rows, one in 31,574 lies farther from its mean.
 */
const DEVIATIONS_MIN = 4
/** The deviation of rows that are all equal to the means of their cells. */
const DEVIATION_MIN = 1e-6

/**
 * Measures how many cells a search has to scan. The true nearest rows come from a scan of all codes, scored in float32.
 * @param folder with `vectors.f32` and `vectors.i4`.
 * @param queries unit length; the first QUERIES_MAX are used, and rows of the version fill them up.
 */
export async function measureCells(
  folder: string,
  file: VectorFile,
  cells: Cells,
  queries: readonly Float32Array[],
  pause: () => Promise<void>,
): Promise<Pick<CellsDescription, 'probes' | 'recall' | 'scale' | 'deviations' | 'queries'>> {
  const count = cells.starts.length - 1
  const cellOf = new Uint32Array(file.rows)
  for (let cell = 0; cell < count; cell++)
    for (const row of cells.rows.subarray(cells.starts[cell], cells.starts[cell + 1])) cellOf[row] = cell
  const asked = await queriesOf(file, queries, pause)
  /** For each depth how many true rows lie in the cell of each rank; the last one counts those in no cell found. */
  const ranks = DEPTHS.map(() => new Float64Array(count + 1))
  const deviations = DEPTHS.map((): number[] => [])
  const scale = scaleOf(cells, asked)
  const finder = createCellFinder(cells.graph, cells.radii, file.dimensions, scale)
  using opened = new DisposableStack()
  const codes = openCodes({ path: join(folder, 'vectors.i4') }, file.rows, file.dimensions)
  opened.defer(() => codes.close())
  const exact = openRowFile(file.path, file.dimensions * 4)
  opened.defer(() => exact.close())
  for (const query of asked) {
    await pause()
    const nearest = nearestOf(query, cells, codes, exact)
    const found = foundCells(finder, query, count)
    countRanks(ranks, found.rankOf, nearest.rows, cellOf)
    const scatter = scatterNear(codes.scan(query, 1, 1), cells.starts, cells.radii, found.cells)
    addDeviations(deviations, nearest, (row) => {
      const cell = cellOf[row] ?? 0
      return { product: found.productOf[cell] ?? 0, deviation: scatter * (cells.radii[cell] ?? 0) }
    })
  }
  const measured = ranks.map((counts) => fewest(counts, count))
  return {
    probes: measured.map(({ probes }) => probes),
    recall: measured[0]?.recall ?? 0,
    scale,
    deviations: Math.max(DEVIATIONS_MIN, ...deviations.map((ofDepth) => quantile(ofDepth, REACHED))),
    queries: asked.length,
  }
}

/** Cells of each query that the scale is measured with. */
const SCALE_CELLS = 64

/** The least squares of the true inner products of the first points over those of the graph. */
function scaleOf({ means, radii, graph }: Cells, queries: readonly Float32Array[]): number {
  const exact = finderPoints(means, radii)
  let [both, squares] = [0, 0]
  for (const query of queries) {
    const asked = finderQuery(query)
    const { points, products } = graph.nearest(asked, Math.min(SCALE_CELLS, radii.length))
    for (const [at, cell] of points.entries()) {
      const product = products[at] ?? 0
      both += product * innerProductAt(exact, cell * asked.length, asked)
      squares += product * product
    }
  }
  return both > 0 ? both / squares : 1
}

interface FoundCells {
  /** In the order in which a search takes them. */
  readonly cells: Uint32Array
  /** The rank of each cell; the number of cells for one that the graph does not find. */
  readonly rankOf: Uint32Array
  /** The inner product of each cell's mean; -1 for one that the graph does not find. */
  readonly productOf: Float32Array
}

function foundCells(finder: CellFinder, query: Float32Array, count: number): FoundCells {
  const rankOf = new Uint32Array(count).fill(count)
  const productOf = new Float32Array(count).fill(-1)
  const { cells, products } = finder.nearest(query, count)
  for (const [rank, cell] of cells.entries()) {
    rankOf[cell] = rank
    productOf[cell] = products[rank] ?? -1
  }
  return { cells, rankOf, productOf }
}

/** @param cellOf the product of the mean of a row's cell, and the deviation of its rows. */
function addDeviations(
  deviations: readonly number[][],
  { rows, scores, ofMean }: NearestOfQuery,
  cellOf: (row: number) => { readonly product: number; readonly deviation: number },
): void {
  for (const [at, depth] of DEPTHS.entries()) {
    const least = (scores[Math.min(depth, rows.length) - 1] ?? 0) - ofMean
    for (const row of rows.subarray(0, depth)) {
      const { product, deviation } = cellOf(row)
      deviations[at]?.push((least - product) / Math.max(DEVIATION_MIN, deviation))
    }
  }
}

function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1] ?? 0
}

/** Counts each of the nearest rows at the rank of its cell, for every depth that it belongs to. */
function countRanks(
  counts: readonly Float64Array[],
  rankOf: Uint32Array,
  nearest: Uint32Array,
  cellOf: Uint32Array,
): void {
  for (const [depth, ofDepth] of counts.entries())
    for (const row of nearest.subarray(0, DEPTHS[depth])) {
      const rank = rankOf[cellOf[row] ?? 0] ?? 0
      ofDepth[rank] = (ofDepth[rank] ?? 0) + 1
    }
}

interface NearestOfQuery {
  /** Nearest first, with their cosines. */
  readonly rows: Uint32Array
  readonly scores: Float64Array
  /** The cosine of the mean of all rows, by which a search of the codes is off. */
  readonly ofMean: number
}

function nearestOf(query: Float32Array, { rows: rowOf }: Cells, codes: CodesReader, exact: RowFile): NearestOfQuery {
  const scan = codes.scan(query, DEEPEST, DEPTHS[0])
  scan.add(allPlaces(rowOf.length), 0, rowOf.length)
  const rows = scan.rows().map((place) => rowOf[place] ?? 0)
  rows.sort()
  const { ids, scores } = largest(cosines(exact, rows, query), DEEPEST)
  const tenth = scores[Math.min(DEPTHS[0], scores.length) - 1] ?? 0
  return { rows: ids.map((at) => rows[at] ?? 0), scores, ofMean: tenth - scan.threshold() }
}

function allPlaces(rows: number): Uint32Array {
  const bits = new Uint32Array(bitsetWords(rows)).fill(0xffff_ffff)
  if (rows % 32 !== 0) bits[bits.length - 1] = 2 ** (rows % 32) - 1
  return bits
}

/** The fewest cells, nearest first, that hold CELLS_RECALL of the counted rows. */
function fewest(counts: Float64Array, cells: number): { readonly probes: number; readonly recall: number } {
  const total = counts.reduce((sum, each) => sum + each, 0)
  let found = 0
  for (let rank = 0; rank < cells; rank++) {
    found += counts[rank] ?? 0
    if (found >= CELLS_RECALL * total) return { probes: rank + 1, recall: found / total }
  }
  return { probes: cells, recall: found / total }
}

async function queriesOf(
  file: VectorFile,
  given: readonly Float32Array[],
  pause: () => Promise<void>,
): Promise<readonly Float32Array[]> {
  const first = given.slice(0, QUERIES_MAX)
  return [...first, ...(await sampleVectors(file, Math.max(0, QUERIES_MIN - first.length), pause))]
}
