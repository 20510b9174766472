import { join } from 'node:path'
import { wholeFile } from '#core/platform/resident-parts.ts'
import type { ResidentParts } from '#core/platform/resident-parts.ts'
import { cellsLayout } from './cells.ts'
import type { CellsDescription } from './cells.ts'
import { openGraph } from './graph.ts'

/** One thread's view of the cells of a version. */
export interface CellsReader {
  readonly probes: CellsDescription['probes']
  /** The share of the true ten nearest in the first of `probes`. */
  readonly recall: number
  /** First place of each cell, and the end. */
  readonly starts: Uint32Array
  readonly rowOf: Uint32Array
  /** Cells nearest to a query, nearest first. */
  nearest(query: Float32Array, count: number): Uint32Array
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
  { count, connectivity, probes, recall }: CellsDescription,
  parts: ResidentParts,
): CellsReader {
  const { rowsOffset, bytes } = cellsLayout(rows, count)
  const table = parts.read(wholeFile(join(folder, 'cells.u32'), bytes))
  const graph = openGraph(join(folder, 'graph.usearch'), dimensions, count, connectivity)
  return {
    probes,
    recall,
    starts: new Uint32Array(table, 0, count + 1),
    rowOf: new Uint32Array(table, rowsOffset, rows),
    nearest: (query, wanted) => graph.nearest(query, wanted),
    close: () => graph.close(),
  }
}
