import { CELLS_RECALL } from '#core/index/vectors/cells.ts'
import type { CellsDescription } from '#core/index/vectors/cells.ts'

type MeasuredCells = Pick<CellsDescription, 'count' | 'probes' | 'recall' | 'queries'>

/** Returns what a build measured of its cells, in one line: `99.2 % of the ten nearest in 600 of 4000, 200 queries`. */
export function cellsInWords({ recall, count, probes, queries }: MeasuredCells): string {
  return `${percent(recall)} of the ten nearest in ${probes[0]} of ${count}, ${queries} queries`
}

/** Returns a warning for an operator, or undefined where the cells hold the wanted share. */
export function cellsWarning({ recall }: Pick<CellsDescription, 'recall'>): string | undefined {
  if (recall >= CELLS_RECALL) return undefined
  return (
    `the cells of the vectors hold ${percent(recall)} of the ten nearest passages and not ${percent(CELLS_RECALL)}, ` +
    'so every search scans all vectors that its filters allow'
  )
}

/** Rounds down, so that a share below a bound never reads as the bound. */
function percent(share: number): string {
  return `${Math.floor(share * 1_000 + 1e-9) / 10} %`
}
