import { bitsetWords } from '#core/platform/bitset.ts'
import type { CodesScan, Scatter } from './codes-scan.ts'

/** Rows of the nearest cells that tell how rows lie around the means of their cells. */
const SCATTER_ROWS = 1_000

/** How the rows of the cells nearest to a query lie around the means of their cells. */
export interface CellScatter {
  /** Whether it rests on enough rows. */
  isMeasured(): boolean
  add(scatter: Scatter): void
  /** Standard deviation of the rows' cosines. */
  deviation(): number
}

export function createCellScatter(): CellScatter {
  let [free, squares] = [0, 0]
  return {
    isMeasured: () => free >= SCATTER_ROWS,
    add(scatter) {
      free += scatter.rows - 1
      squares += scatter.squares
    },
    deviation: () => Math.sqrt(squares / Math.max(1, free)),
  }
}

/** Measures the cells nearest to a query, as a search does. @param cells nearest first. */
export function scatterNear(scan: CodesScan, starts: Uint32Array, cells: Uint32Array): number {
  const scatter = createCellScatter()
  const none = new Uint32Array(bitsetWords(starts.at(-1) ?? 0))
  for (const cell of cells) {
    if (scatter.isMeasured()) break
    scatter.add(scan.addAndMeasure(none, starts[cell] ?? 0, starts[cell + 1] ?? 0))
  }
  return scatter.deviation()
}
