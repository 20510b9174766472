import { z } from 'zod'

/** Depths for which a build measures how many cells a search needs. */
export const DEPTHS = [10, 100, 1_000] as const

/** The division of a version into cells and the graph that finds them, in its manifest; see decision 0027. */
export const cellsSchema = z.strictObject({
  count: z.int().positive(),
  /** Links of a cell in the graph. */
  connectivity: z.int().positive(),
  /** Cells that are looked at for the links of a cell. */
  expansion_add: z.int().positive(),
  /** Cells that one call adds to the graph. */
  batch: z.int().positive(),
  /** The fewest cells that hold CELLS_RECALL of the true nearest 10, 100 and 1,000; all if no fewer do. */
  probes: z.array(z.int().positive()).length(DEPTHS.length),
  /** The share of the true ten nearest in the first of `probes`, and how many queries measured it. */
  recall: z.number().min(0).max(1),
  /**
   * How many standard deviations of the rows of a cell around its mean the last of the nearest lies above the mean of
   * the cell that holds one of them, at most; for REACHED of the nearest 10, 100 and 1,000. The deviation is the radius
   * of the cell times one number for each query.
   */
  deviations: z.number().nonnegative(),
  queries: z.int().positive(),
})
export type CellsDescription = z.infer<typeof cellsSchema>
export type GraphShape = Pick<CellsDescription, 'connectivity' | 'expansion_add' | 'batch'>

/** Share of the true nearest rows in the cells that are found; with less, a version is scanned whole. */
export const CELLS_RECALL = 0.99
/** Share of the nearest rows that `deviations` holds for. A search finds more: it stops only where it holds for all. */
export const REACHED = 0.985

/** Byte offsets in `cells.u32`, and its length. */
export interface CellsLayout {
  readonly radiiOffset: number
  readonly rowsOffset: number
  readonly bytes: number
}

/**
 * Layout of `cells.u32`:
 *
 * - (cells + 1) × uint32: the first place of each cell, and the end.
 * - cells × float32: the radius of each cell, the root of the mean squared distance of its rows from their mean; at
 *   least RADIUS_MIN_SHARE of the mean radius.
 * - rows × uint32: the row in each place.
 */
export function cellsLayout(rows: number, cells: number): CellsLayout {
  const radiiOffset = (cells + 1) * 4
  const rowsOffset = radiiOffset + cells * 4
  return { radiiOffset, rowsOffset, bytes: rowsOffset + rows * 4 }
}

/** The product with a mean comes from its code; a cell of one row, or of equal ones, is no surer than that. */
export const RADIUS_MIN_SHARE = 0.1

/** Returns the first fault of `cells.u32` as one sentence, or undefined if there is none. */
export function cellsFault(bytes: Buffer, rows: number, cells: number): string | undefined {
  const { radiiOffset, rowsOffset, bytes: length } = cellsLayout(rows, cells)
  if (bytes.length !== length) return 'cells.u32 does not fit the numbers of passages and cells.'
  let start = 0
  for (let cell = 0; cell <= cells; cell++) {
    const next = bytes.readUInt32LE(cell * 4)
    if (cell === 0 ? next !== 0 : next <= start) return 'The cells of cells.u32 do not follow each other.'
    start = next
  }
  if (start !== rows) return 'The cells of cells.u32 do not end with the passages.'
  for (let at = radiiOffset; at < rowsOffset; at += 4) {
    const radius = bytes.readFloatLE(at)
    if (!(radius >= 0 && radius <= 1)) return 'A cell of cells.u32 has a radius that no rows of unit length have.'
  }
  const seen = new Uint8Array(rows)
  for (let at = rowsOffset; at < length; at += 4) {
    const row = bytes.readUInt32LE(at)
    if (row >= rows || seen[row] === 1) return 'cells.u32 does not hold every passage once.'
    seen[row] = 1
  }
  return undefined
}
