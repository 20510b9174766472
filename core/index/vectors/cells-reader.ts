import { join } from 'node:path'
import { wholeFile } from '#core/platform/resident-parts.ts'
import type { ResidentParts } from '#core/platform/resident-parts.ts'
import { cellsLayout } from './cells.ts'
import type { CellsDescription } from './cells.ts'
import { openGraph } from './graph.ts'
import type { NearPoints } from './graph.ts'

/** One thread's view of the cells of a version. */
export interface CellsReader {
  readonly probes: CellsDescription['probes']
  readonly recall: CellsDescription['recall']
  readonly deviations: CellsDescription['deviations']
  /** First place of each cell, and the end. */
  readonly starts: Uint32Array
  readonly rowOf: Uint32Array
  /** Cells whose means have the largest inner products with a query, and these products less that of the whole mean. */
  nearest(query: Float32Array, count: number): NearPoints
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
  { count, connectivity, probes, recall, scale, deviations }: CellsDescription,
  parts: ResidentParts,
): CellsReader {
  const { rowsOffset, bytes } = cellsLayout(rows, count)
  const table = parts.read(wholeFile(join(folder, 'cells.u32'), bytes))
  const graph = openGraph(join(folder, 'graph.usearch'), dimensions, count, connectivity)
  return {
    probes,
    recall,
    deviations,
    starts: new Uint32Array(table, 0, count + 1),
    rowOf: new Uint32Array(table, rowsOffset, rows),
    nearest(query, wanted) {
      const { points, products } = graph.nearest(query, wanted)
      return { points, products: products.map((product) => product * scale) }
    },
    close: () => graph.close(),
  }
}
