import { join } from 'node:path'
import { wholeFile } from '#core/platform/resident-parts.ts'
import type { ResidentParts } from '#core/platform/resident-parts.ts'
import { cellsLayout } from './cells.ts'
import { openMeans } from './cell-means.ts'
import type { CellMeans } from './cell-means.ts'
import type { CellsDescription } from './cells.ts'
import { openGraph } from './graph.ts'

/** One thread's view of the cells of a version. */
export interface CellsReader extends CellMeans {
  /** @returns the cells with the nearest means, nearest first, `count` of them or nearly so many. */
  nearest(query: Float32Array, count: number): Uint32Array
  readonly probes: CellsDescription['probes']
  readonly recall: CellsDescription['recall']
  readonly deviations: CellsDescription['deviations']
  /** First place of each cell, and the end. */
  readonly starts: Uint32Array
  /** Of each cell; see `cellsLayout`. */
  readonly radii: Float32Array
  readonly rowOf: Uint32Array
  close(): void
}

/**
 * @param folder of a verified artifact.
 * @throws Error if a file does not match its description.
 */
export function openCells(
  folder: string,
  rows: number,
  dimensions: number,
  { count, connectivity, probes, recall, deviations }: CellsDescription,
  parts: ResidentParts,
): CellsReader {
  const { radiiOffset, rowsOffset, bytes } = cellsLayout(rows, count)
  const table = parts.read(wholeFile(join(folder, 'cells.u32'), bytes))
  const means = openMeans(folder, count, dimensions, parts)
  const graph = openGraph(join(folder, 'graph.usearch'), dimensions, count, connectivity)
  return {
    probes,
    recall,
    deviations,
    ...means,
    nearest: (query, wanted) => graph.nearest(query, wanted),
    starts: new Uint32Array(table, 0, count + 1),
    radii: new Float32Array(table, radiiOffset, count),
    rowOf: new Uint32Array(table, rowsOffset, rows),
    close: () => graph.close(),
  }
}
