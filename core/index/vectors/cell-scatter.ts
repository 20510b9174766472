import { bitsetWords } from '#core/platform/bitset.ts'
import type { CodesScan, Scatter } from './codes-scan.ts'

/** Rows of the first cells that tell how rows lie around the means of their cells. */
const SCATTER_ROWS = 1_000

/** Cells near a question are often far smaller than the average, so that a few of them hold too few rows. */
const FIRST_CELLS_MIN = 32

/** Cells nearest to a query that a search begins with: twice as many as hold SCATTER_ROWS on average, or more. */
export function firstCells(rows: number, cells: number): number {
  return Math.min(cells, Math.max(FIRST_CELLS_MIN, Math.ceil((2 * SCATTER_ROWS * cells) / rows)))
}

/** How the cosines of rows with a query lie around those of the means of their cells. */
export interface CellScatter {
  /** Whether it rests on enough rows. */
  isMeasured(): boolean
  /** @param radius of the cell. */
  add(scatter: Scatter, radius: number): void
  /** Standard deviation, in radii of the cells. */
  deviation(): number
}

export function createCellScatter(): CellScatter {
  let [free, squares, radii] = [0, 0, 0]
  return {
    isMeasured: () => free >= SCATTER_ROWS,
    add(scatter, radius) {
      free += scatter.rows - 1
      squares += scatter.squares
      radii += (scatter.rows - 1) * radius * radius
    },
    deviation: () => (radii === 0 ? 0 : Math.sqrt(squares / radii)),
  }
}

/** Measures the first cells of a query, as a search does. */
export function scatterNear(scan: CodesScan, starts: Uint32Array, radii: Float32Array, cells: Uint32Array): number {
  const scatter = createCellScatter()
  const none = new Uint32Array(bitsetWords(starts.at(-1) ?? 0))
  for (const cell of cells) {
    if (scatter.isMeasured()) break
    scatter.add(scan.addAndMeasure(none, starts[cell] ?? 0, starts[cell + 1] ?? 0), radii[cell] ?? 0)
  }
  return scatter.deviation()
}
