/**
 * Files of vectors, little-endian.
 *
 * - `vectors.f32`: rows × dimensions float32, unit length. Exact scores are computed from it.
 * - `vectors.i4`: the vectors in codes of four bits a component; see `codesLayout`. A scan of them finds the candidates
 *   under any filter. A code's place is its row, or in a version with cells its place in `cells.u32`.
 * - `cells.u32`: the rows of each cell of near vectors; see `cellsLayout`.
 * - `cells.i4`: the means of the cells, in the codes of `vectors.i4`.
 * - `graph.usearch`: a graph of these means (usearch, int8), which finds the nearest of them.
 *
 * Only versions whose codes are longer than CELLS_FROM_BYTES have cells.
 */

/** Components of one block of codes: 16 bytes, one component in the low and one in the high half of each. */
export const BLOCK_COMPONENTS = 32
const BLOCK_BYTES = 16
/** Steps of one component. */
export const COMPONENT_STEPS = 16
/** Steps of the component along the mean, which has a block of its own. */
export const COMMON_STEPS = BLOCK_COMPONENTS * (COMPONENT_STEPS - 1)

/** A scan of this size takes about two milliseconds; see decision 0027. */
const CELLS_FROM_BYTES = 16 * 1024 * 1024

/** Byte offsets of the parts of `vectors.i4`, and its length. */
export interface CodesLayout {
  readonly codesOffset: number
  /** Bytes of one row. */
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
 * - rows × rowBytes: the codes, by place. Byte j of block b holds component 32 b + j of the row less the mean in its
 *   low half and component 32 b + 16 + j in its high half, in steps from -7.5 to 7.5. The halves of the last block sum
 *   to the step of the row's component along the mean.
 */
export function codesLayout(rows: number, dimensions: number): CodesLayout {
  const codesOffset = (HEADER_NUMBERS + dimensions) * 8
  const rowBytes = (Math.ceil(dimensions / BLOCK_COMPONENTS) + 1) * BLOCK_BYTES
  return { codesOffset, rowBytes, bytes: codesOffset + rows * rowBytes }
}

/** Whether the codes of a version of this size take at most so many MiB. */
export function codesFit(rows: number, dimensions: number, megabytes: number): boolean {
  return codesLayout(rows, dimensions).bytes <= megabytes * 1_048_576
}

/** Whether a version of this size has cells. */
export function hasCells(rows: number, dimensions: number, fromBytes: number = CELLS_FROM_BYTES): boolean {
  return rows * codesLayout(rows, dimensions).rowBytes >= fromBytes
}
