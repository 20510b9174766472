/**
 * Files of vectors, little-endian.
 *
 * - `vectors.f32`: rows × dimensions float32, unit length. Exact scores are computed from it.
 * - `vectors.i4`: the vectors in codes of four bits a component; see `codesLayout`. A scan of them finds the candidates
 *   under any filter; it reads the low bits only of rows whose high bits are near the query. A code's place is its
 *   row, or in a version with cells its place in `cells.u32`.
 * - `cells.u32`: the rows of each cell of near vectors; see `cellsLayout`.
 * - `cells.i4`: the means of the cells, in the codes of `vectors.i4`.
 * - `graph.usearch`: a graph of these means (usearch, int8), which finds the nearest of them.
 *
 * Only versions whose codes are longer than CELLS_FROM_BYTES have cells.
 */

/** Components of one block of a plane: 16 bytes, two bits of four components in each. */
const BLOCK_COMPONENTS = 64
const BLOCK_BYTES = 16
/** Steps of one component. */
export const COMPONENT_STEPS = 16
/** Steps of the component along the mean. */
export const COMMON_STEPS = 480
const COMMON_BYTES = 2

/** A scan of this size takes about two milliseconds; see decision 0027. */
const CELLS_FROM_BYTES = 16 * 1024 * 1024

/** The high or the low bits of all rows. */
export interface Plane {
  /** Where the part of row 0 begins. */
  readonly offset: number
  readonly rowBytes: number
}

/** Byte offsets of the parts of some codes, and the length of all. */
export interface CodesLayout {
  readonly high: Plane
  readonly low: Plane
  /** Bytes of one row in both planes. */
  readonly rowBytes: number
  readonly bytes: number
}

/** float64 values of the header; see `codesLayout`. */
export const HEADER_NUMBERS = 4

/**
 * Layout of `vectors.i4`:
 *
 * - float64 × 4: the step of a component, the value of step 0 along the mean, the step along the mean, and the standard
 *   deviation of the error of a cosine.
 * - dimensions × float64: the mean of all vectors.
 * - the codes, by place; see `planesLayout`.
 */
export function codesLayout(rows: number, dimensions: number): CodesLayout {
  return planesLayout(rows, dimensions, (HEADER_NUMBERS + dimensions) * 8)
}

/**
 * Layout of codes in two planes. A component of a row less the mean has 16 steps, from -7.5 to 7.5.
 *
 * - rows × high.rowBytes: the two high bits of the steps, then the step of the component along the mean as uint16.
 * - rows × low.rowBytes: the two low bits of the steps.
 *
 * Byte j of block b holds components 64 b + j, 64 b + 16 + j, 64 b + 32 + j and 64 b + 48 + j, the first one in its
 * lowest bits.
 * @param from where the codes begin.
 */
export function planesLayout(rows: number, dimensions: number, from = 0): CodesLayout {
  const lowBytes = Math.ceil(dimensions / BLOCK_COMPONENTS) * BLOCK_BYTES
  const high = { offset: from, rowBytes: lowBytes + COMMON_BYTES }
  const low = { offset: from + rows * high.rowBytes, rowBytes: lowBytes }
  return { high, low, rowBytes: high.rowBytes + lowBytes, bytes: low.offset + rows * lowBytes }
}

/** Whether the codes of a version of this size take at most so many MiB. */
export function codesFit(rows: number, dimensions: number, megabytes: number): boolean {
  return codesLayout(rows, dimensions).bytes <= megabytes * 1_048_576
}

/** Whether a version of this size has cells. */
export function hasCells(rows: number, dimensions: number, fromBytes: number = CELLS_FROM_BYTES): boolean {
  return rows * codesLayout(rows, dimensions).rowBytes >= fromBytes
}
