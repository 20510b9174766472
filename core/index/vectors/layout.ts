/**
 * Files of vectors, little-endian.
 *
 * - `vectors.f32`: rows × dimensions float32, unit length. Exact scores are computed from it.
 * - `vectors.sq4`: the vectors in four bits a component (`sq4Layout`), in the order of the lists. A scan of them finds
 *   the candidates under any filter.
 * - `clusters.u32`: the rows of each list (`ivfLayout`). The position of a row in the order of the lists is the position
 *   of its SQ4 vector.
 * - `centroids.sq4`: the centroids of the lists, in SQ4 by the same quantizer.
 * - `graph.usearch`: an HNSW graph of the centroids (usearch, int8), which finds the lists nearest to a query.
 */

/** Components of one block: 32 bytes, two components in each. */
const BLOCK_COMPONENTS = 64
const BLOCK_BYTES = 32
/** Steps of one component. */
export const COMPONENT_STEPS = 16
/** Steps of the component along the mean. */
export const MEAN_STEPS = 480
const MEAN_BYTES = 2

export type Sq4Layout = ReturnType<typeof rowsLayout>

/** float64 values of the header; see `sq4Layout`. */
export const HEADER_NUMBERS = 4

/**
 * Layout of `vectors.sq4`:
 *
 * - float64 × 4: the step of a component, the value of step 0 along the mean, the step along the mean, and the standard
 *   deviation of the error of a cosine.
 * - dimensions × float64: the mean of all vectors.
 * - the SQ4 vectors by position; see `rowsLayout`.
 */
export function sq4Layout(rows: number, dimensions: number): Sq4Layout {
  return rowsLayout(rows, dimensions, (HEADER_NUMBERS + dimensions) * 8)
}

/**
 * Layout of SQ4 vectors without a header. An SQ4 vector holds the steps of the components of a vector less the mean, 16
 * steps from -7.5 to 7.5, and then the step of the component along the mean as uint16. Byte j of block b holds
 * component 64 b + j in its low bits and component 64 b + 32 + j in its high bits.
 * @param offset where the first SQ4 vector begins.
 * @returns `bytes`: length of the whole.
 */
export function rowsLayout(rows: number, dimensions: number, offset = 0) {
  const rowBytes = Math.ceil(dimensions / BLOCK_COMPONENTS) * BLOCK_BYTES + MEAN_BYTES
  return { offset, rowBytes, bytes: offset + rows * rowBytes }
}

/** Components of an SQ4 vector, padded to whole blocks. */
export function paddedComponents(dimensions: number): number {
  return Math.ceil(dimensions / BLOCK_COMPONENTS) * BLOCK_COMPONENTS
}

/** Whether the SQ4 vectors of a version of this size take at most so many MiB. */
export function sq4FitsIn(rows: number, dimensions: number, megabytes: number): boolean {
  return sq4Layout(rows, dimensions).bytes <= megabytes * 1_048_576
}
