/**
 * Files of vectors, little-endian.
 *
 * - `vectors.f32`: rows × dimensions float32, unit length. Exact scores are computed from it.
 * - `vectors.sq4`: the vectors in codes of four bits a component (`codesLayout`), in cluster order. A scan of them finds
 *   the candidates under any filter.
 * - `clusters.u32`: the rows of each cluster (`clustersLayout`). The position of a row in cluster order is the position
 *   of its code.
 * - `centroids.sq4`: the centroids of the clusters, in codes of the same quantizer.
 * - `graph.usearch`: an HNSW graph of the centroids (usearch, int8), which finds the clusters nearest to a query.
 */

/** Components of one block: 32 bytes, two components in each. */
const BLOCK_COMPONENTS = 64
const BLOCK_BYTES = 32
/** Steps of one component. */
export const COMPONENT_STEPS = 16
/** Steps of the component along the mean. */
export const MEAN_STEPS = 480
const MEAN_BYTES = 2

export interface CodesLayout {
  /** Where the first code begins. */
  readonly offset: number
  readonly rowBytes: number
  /** Length of the whole. */
  readonly bytes: number
}

/** float64 values of the header; see `codesLayout`. */
export const HEADER_NUMBERS = 4

/**
 * Layout of `vectors.sq4`:
 *
 * - float64 × 4: the step of a component, the value of step 0 along the mean, the step along the mean, and the standard
 *   deviation of the error of a cosine.
 * - dimensions × float64: the mean of all vectors.
 * - the codes by position; see `rowsLayout`.
 */
export function codesLayout(rows: number, dimensions: number): CodesLayout {
  return rowsLayout(rows, dimensions, (HEADER_NUMBERS + dimensions) * 8)
}

/**
 * Layout of codes without a header. A code holds the steps of the components of a vector less the mean, 16 steps from
 * -7.5 to 7.5, and then the step of the component along the mean as uint16. Byte j of block b holds component 64 b + j
 * in its low bits and component 64 b + 32 + j in its high bits.
 * @param offset where the codes begin.
 */
export function rowsLayout(rows: number, dimensions: number, offset = 0): CodesLayout {
  const rowBytes = Math.ceil(dimensions / BLOCK_COMPONENTS) * BLOCK_BYTES + MEAN_BYTES
  return { offset, rowBytes, bytes: offset + rows * rowBytes }
}

/** Components of a code, padded to whole blocks. */
export function paddedComponents(dimensions: number): number {
  return Math.ceil(dimensions / BLOCK_COMPONENTS) * BLOCK_COMPONENTS
}

/** Whether the codes of a version of this size take at most so many MiB. */
export function codesFitIn(rows: number, dimensions: number, megabytes: number): boolean {
  return codesLayout(rows, dimensions).bytes <= megabytes * 1_048_576
}
