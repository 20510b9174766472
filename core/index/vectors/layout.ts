/**
 * Little-endian.
 *
 * - `vectors.f32`: rows × dimensions float32, unit length; exact scores come from here.
 * - `vectors.i8`: rows × head int8, the head of each vector: its components along the directions in which the vectors
 *   differ most, without their common mean, all in one scale. Inner products with them find the candidates from a
 *   sixth of a vector's components, of a byte each. They lie in the order of slots, not of rows: cell after cell of
 *   neighbouring vectors, by row within a cell.
 * - `cells.bin`: see `cellsLayout`.
 */

/**
 * How many standard deviations beyond its mean a cell is taken to reach: `near` where a query's own neighbourhood is allowed, else
 * `far`.
 */
export interface Reach {
  readonly near: number
  readonly far: number
}

/** How a version's vectors are divided: number of cells, and components of a head. */
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
 * `cells.bin`: float64 scale of the means; (cells + 1) uint32, the first slot of each cell and the end; cells float32,
 * the standard deviation of the heads of each about their mean, along a direction that a query may have;
 * rows uint32, the row in each slot; head × dimensions float32, the directions by which a query gets its head, none
 * where a head is as long as a vector; cells × head int8, the mean of each cell's heads times the scale.
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
