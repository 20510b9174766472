import { join } from 'node:path'
import { openSized, readFully } from '#core/platform/file-reader.ts'
import { closeSync } from 'node:fs'
import { createTopK } from '#core/platform/top-k.ts'
import type { VectorFile } from './blocks.ts'
import { CELLS_RECALL, DEPTHS } from './cells.ts'
import type { CellsDescription } from './cells.ts'
import { sampled } from './cells-writer.ts'
import type { Cells } from './cells-writer.ts'
import { openCodes } from './codes-reader.ts'
import { innerProductAt } from './inner-product.ts'

/** Sampled rows fill up the queries to this number. */
const QUERIES_MIN = 200
const QUERIES_MAX = 400
const DEEPEST = DEPTHS[2]

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
): Promise<Pick<CellsDescription, 'probes' | 'recall' | 'queries'>> {
  const count = cells.starts.length - 1
  const cellOfPlace = new Uint32Array(file.rows)
  for (let cell = 0; cell < count; cell++)
    for (let place = cells.starts[cell] ?? 0; place < (cells.starts[cell + 1] ?? 0); place++) cellOfPlace[place] = cell
  const codes = openCodes({ path: join(folder, 'vectors.i4') }, file.rows, file.dimensions)
  const exact = openSized(file.path, file.rows * file.dimensions * 4)
  const every = allPlaces(file.rows)
  /** For each depth how many true rows lie in the cell of each rank; the last one counts those in no cell found. */
  const ranks = DEPTHS.map(() => new Float64Array(count + 1))
  const asked = await queriesOf(file, queries, pause)
  try {
    for (const query of asked) {
      await pause()
      const nearest = nearestOf(query, codes.nearest(query, { bits: every }, DEEPEST), cells.rows, exact)
      countRanks(ranks, ranksOf(cells, query), nearest, cellOfPlace)
    }
  } finally {
    codes.close()
    closeSync(exact)
  }
  const measured = ranks.map((counts) => fewest(counts, count))
  const [ten = measured[0], hundred = ten, thousand = hundred] = measured
  if (ten === undefined || hundred === undefined || thousand === undefined) throw new Error('no depth was measured')
  return {
    probes: [ten.probes, hundred.probes, thousand.probes],
    recall: ten.recall,
    queries: asked.length,
  }
}

/** The rank of each cell for a query; the number of cells for one that the graph does not find. */
function ranksOf({ graph, starts }: Cells, query: Float32Array): Uint32Array {
  const count = starts.length - 1
  const rankOf = new Uint32Array(count).fill(count)
  for (const [rank, cell] of graph.nearest(query, count).entries()) rankOf[cell] = rank
  return rankOf
}

/** Counts each of the nearest places at the rank of its cell, for every depth that it belongs to. */
function countRanks(
  counts: readonly Float64Array[],
  rankOf: Uint32Array,
  nearest: Uint32Array,
  cellOfPlace: Uint32Array,
): void {
  for (const [depth, ofDepth] of counts.entries())
    for (const place of nearest.subarray(0, DEPTHS[depth])) {
      const rank = rankOf[cellOfPlace[place] ?? 0] ?? 0
      ofDepth[rank] = (ofDepth[rank] ?? 0) + 1
    }
}

/** The places of the nearest rows, nearest first. */
function nearestOf(query: Float32Array, places: Uint32Array, rowOf: Uint32Array, exact: number): Uint32Array {
  const near = createTopK(DEEPEST)
  const vector = new Float32Array(query.length)
  for (const place of places) {
    readFully(exact, new Uint8Array(vector.buffer), (rowOf[place] ?? 0) * vector.byteLength)
    near.offer(place, innerProductAt(vector, 0, query))
  }
  return near.sorted().ids
}

function allPlaces(rows: number): Uint32Array {
  const bits = new Uint32Array(Math.ceil(rows / 32)).fill(0xffff_ffff)
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
  if (first.length >= QUERIES_MIN) return first
  const { dimensions } = file
  const rows = await sampled(file, QUERIES_MIN - first.length, pause)
  const more = Array.from({ length: rows.length / dimensions }, (_, at) =>
    rows.slice(at * dimensions, (at + 1) * dimensions),
  )
  return [...first, ...more]
}
