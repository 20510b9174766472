import { join } from 'node:path'
import { largest } from '#core/platform/top-k.ts'
import { sampleVectors } from './blocks.ts'
import type { VectorFile } from './blocks.ts'
import { CELLS_RECALL, DEPTHS } from './cells.ts'
import type { CellsDescription } from './cells.ts'
import type { Cells } from './cells-writer.ts'
import { openCodes } from './codes-reader.ts'
import { cosines } from './cosines.ts'
import { openRowFile } from './row-file.ts'
import type { RowFile } from './row-file.ts'

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
  const cellOf = new Uint32Array(file.rows)
  for (let cell = 0; cell < count; cell++)
    for (const row of cells.rows.subarray(cells.starts[cell], cells.starts[cell + 1])) cellOf[row] = cell
  const asked = await queriesOf(file, queries, pause)
  const every = allPlaces(file.rows)
  /** For each depth how many true rows lie in the cell of each rank; the last one counts those in no cell found. */
  const ranks = DEPTHS.map(() => new Float64Array(count + 1))
  using opened = new DisposableStack()
  const codes = openCodes({ path: join(folder, 'vectors.i4') }, file.rows, file.dimensions)
  opened.defer(() => codes.close())
  const exact = openRowFile(file.path, file.dimensions * 4)
  opened.defer(() => exact.close())
  for (const query of asked) {
    await pause()
    const places = codes.nearest(query, { bits: every }, DEEPEST)
    const nearest = nearestOf(query, places.map((place) => cells.rows[place] ?? 0).sort(), exact)
    countRanks(ranks, ranksOf(cells, query), nearest, cellOf)
  }
  const measured = ranks.map((counts) => fewest(counts, count))
  return {
    probes: measured.map(({ probes }) => probes),
    recall: measured[0]?.recall ?? 0,
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

/** The nearest of some rows, nearest first. @param rows ascending. */
function nearestOf(query: Float32Array, rows: Uint32Array, exact: RowFile): Uint32Array {
  return largest(cosines(exact, rows, query), DEEPEST).ids.map((at) => rows[at] ?? 0)
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
  return [...first, ...(await sampleVectors(file, Math.max(0, QUERIES_MIN - first.length), pause))]
}
