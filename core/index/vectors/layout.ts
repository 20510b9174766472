/**
 * Files of vectors, little-endian.
 *
 * - `vectors.f32`: rows × dimensions float32, unit length. Exact scores are computed from it.
 * - `vectors.i8`: rows × head int8, the head of each vector. A head holds the components along the directions of
 *   largest variance, minus the common mean, all in one scale. Inner products with heads find the candidates from a
 *   sixth of a vector's components, of one byte each. Heads are in slot order, not row order: cell after cell, by row
 *   within a cell.
 * - `cells.bin`: see `cellsLayout`.
 */

/**
 * Number of standard deviations beyond its mean that a cell is assumed to reach. `near` applies where the filter allows
 * the query's own neighbourhood, else `far`.
 */
export interface Reach {
  readonly near: number
  readonly far: number
}

/** Division of a version's vectors: the number of cells, and the components of a head. */
export interface Division {
  readonly cells: number
  readonly head: number
}

/** Byte offsets of the parts of a file, and its length. */
export interface CellsLayout {
  readonly startsOffset: number
  readonly standardDeviationsOffset: number
  readonly rowsOffset: number
  readonly directionsOffset: number
  readonly meansOffset: number
  readonly bytes: number
}

/**
 * Layout of `cells.bin`:
 *
 * - float64: the scale of the means.
 * - (cells + 1) uint32: the first slot of each cell, and the end.
 * - cells float32: the standard deviation of each cell's heads about their mean, along a direction that a query may
 *   have.
 * - rows uint32: the row in each slot.
 * - head × dimensions float32: the directions that project a query to its head; none where a head is as long as a
 *   vector.
 * - cells × head int8: the mean of each cell's heads times the scale.
 */
export function cellsLayout(rows: number, dimensions: number, { cells, head }: Division): CellsLayout {
  const startsOffset = 8
  const standardDeviationsOffset = startsOffset + (cells + 1) * 4
  const rowsOffset = standardDeviationsOffset + cells * 4
  const directionsOffset = rowsOffset + rows * 4
  const meansOffset = directionsOffset + (head === dimensions ? 0 : head * dimensions * 4)
  return {
    startsOffset,
    standardDeviationsOffset,
    rowsOffset,
    directionsOffset,
    meansOffset,
    bytes: meansOffset + cells * head,
  }
}
