import { join } from 'node:path'
import { bitsetWords } from '#core/platform/bitset.ts'
import { largest } from '#core/platform/top-k.ts'
import { createResidentParts } from '#core/platform/resident-parts.ts'
import { sampleVectors } from './blocks.ts'
import type { VectorFile } from './blocks.ts'
import { CELLS_RECALL, DEPTHS, REACHED } from './cells.ts'
import type { CellsDescription } from './cells.ts'
import type { Cells } from './cells-writer.ts'
import { openMeans } from './cell-means.ts'
import { firstCells, scatterNear } from './cell-scatter.ts'
import { openCodes } from './codes-reader.ts'
import type { CodesReader } from './codes-reader.ts'
import { openRowFile } from './row-file.ts'
import type { RowFile } from './row-file.ts'

/** Sampled rows fill up the queries to this number. */
const QUERIES_MIN = 200
const QUERIES_MAX = 400
const DEEPEST = DEPTHS[2]
/** The true nearest are looked for among the rows whose codes are so near; see `NearestRange`. */
const ERROR_DEVIATIONS = 3
/**
 * Under a filter that excludes the nearest rows, the wanted ones lie in cells that are all about as near. Of normally
 * distributed rows, one in 13,822 lies farther above its mean.
 */
const DEVIATIONS_MIN = 3.8
/** The deviation of rows that are all equal to the means of their cells. */
const DEVIATION_MIN = 1e-6

/**
 * Measures how many cells a search has to scan. The true nearest rows come from a scan of all codes, scored in float32.
 * @param folder with `vectors.f32`, `vectors.i4` and `cells.i4`.
 * @param queries unit length; the first QUERIES_MAX are used, and rows of the version fill them up.
 */
export async function measureCells(
  folder: string,
  file: VectorFile,
  cells: Cells,
  queries: readonly Float32Array[],
  pause: () => Promise<void>,
): Promise<Pick<CellsDescription, 'probes' | 'recall' | 'deviations' | 'queries'>> {
  const count = cells.starts.length - 1
  const cellOf = new Uint32Array(file.rows)
  for (let cell = 0; cell < count; cell++)
    for (const row of cells.rows.subarray(cells.starts[cell], cells.starts[cell + 1])) cellOf[row] = cell
  const asked = await queriesOf(file, queries, pause)
  /** For each depth how many true rows lie in the cell of each rank. */
  const ranks = DEPTHS.map(() => new Float64Array(count))
  const deviations = DEPTHS.map((): number[] => [])
  const means = openMeans(folder, count, file.dimensions, createResidentParts())
  using opened = new DisposableStack()
  const codes = openCodes({ path: join(folder, 'vectors.i4') }, file.rows, file.dimensions)
  opened.defer(() => codes.close())
  const exact = openRowFile(file.path, file.dimensions)
  opened.defer(() => exact.close())
  for (const query of asked) {
    await pause()
    const nearest = nearestOf(query, cells, codes, exact)
    const scan = codes.scan(query, { ranges: [], threshold: 1 })
    const products = means.products(scan.query)
    const first = cells.graph.nearest(query, firstCells(file.rows, count))
    const scatter = scatterNear(scan, cells.starts, cells.radii, first)
    const mostOf = products.map((product, cell) => product + DEVIATIONS_MIN * scatter * (cells.radii[cell] ?? 0))
    countRanks(ranks, ranksOf(mostOf), nearest.rows, cellOf)
    addDeviations(deviations, nearest, (row) => {
      const cell = cellOf[row] ?? 0
      return { product: products[cell] ?? 0, deviation: scatter * (cells.radii[cell] ?? 0) }
    })
  }
  const measured = ranks.map((counts) => fewest(counts, count))
  return {
    probes: measured.map(({ probes }) => probes),
    recall: measured[0]?.recall ?? 0,
    deviations: Math.max(DEVIATIONS_MIN, ...deviations.map((ofDepth) => quantile(ofDepth, REACHED))),
    queries: asked.length,
  }
}

/** The rank of each value, the largest first. */
function ranksOf(values: Float32Array): Uint32Array {
  const ranks = new Uint32Array(values.length)
  for (const [rank, at] of largest(values, values.length).ids.entries()) ranks[at] = rank
  return ranks
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
  const scan = codes.scan(query, { ranges: [{ count: DEEPEST, deviations: ERROR_DEVIATIONS }], threshold: DEPTHS[0] })
  scan.add(allPlaces(rowOf.length), 0, rowOf.length)
  const rows = scan.rows().map((place) => rowOf[place] ?? 0)
  rows.sort()
  const { ids, scores } = largest(exact.cosines(rows, query), DEEPEST)
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
