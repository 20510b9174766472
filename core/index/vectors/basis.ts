/** Steps of orthogonal iteration. The directions then hold nearly as much variance as the optimal ones. */
const STEPS = 6

/** Mean of vectors, and their covariance times their number. */
export interface Covariance {
  readonly dimensions: number
  readonly mean: Float64Array
  /** Symmetric, dimensions × dimensions. */
  readonly matrix: Float64Array
}

export interface Basis {
  /** Orthonormal, concatenated. */
  readonly directions: Float64Array
  /** Share of the total variance along them. */
  readonly share: number
}

/**
 * Returns the directions of largest variance by orthogonal iteration (Golub & Van Loan, Matrix Computations, 8.2). The
 * order of double-precision operations is fixed, so every machine gets the same bits.
 * @param count directions wanted, ≤ dimensions.
 */
export function leadingDirections({ dimensions, matrix }: Covariance, count: number): Basis {
  let directions = new Float64Array(count * dimensions)
  for (let row = 0; row < count; row++) {
    const from = startRow(row, count, dimensions)
    directions.set(matrix.subarray(from, from + dimensions), row * dimensions)
  }
  orthonormalize(directions, dimensions)
  for (let step = 0; step < STEPS; step++) {
    directions = multiplied(directions, matrix, dimensions)
    orthonormalize(directions, dimensions)
  }
  const total = Array.from({ length: dimensions }, (_, d) => matrix[d * dimensions + d] ?? 0).reduce(
    (sum, value) => sum + value,
    0,
  )
  return {
    directions,
    share: total === 0 ? 1 : innerProduct(multiplied(directions, matrix, dimensions), directions) / total,
  }
}

/** @param sample float32, concatenated vectors. */
export function covarianceOf(sample: Float32Array, dimensions: number): Covariance {
  const mean = meanOf(sample, dimensions)
  const matrix = new Float64Array(dimensions * dimensions)
  const centred = new Float64Array(dimensions)
  for (let at = 0; at < sample.length; at += dimensions) {
    for (let d = 0; d < dimensions; d++) centred[d] = (sample[at + d] ?? 0) - (mean[d] ?? 0)
    for (let row = 0; row < dimensions; row++) {
      const value = centred[row] ?? 0
      const to = row * dimensions
      for (let d = row; d < dimensions; d++) matrix[to + d] = (matrix[to + d] ?? 0) + value * (centred[d] ?? 0)
    }
  }
  for (let row = 0; row < dimensions; row++)
    for (let d = 0; d < row; d++) matrix[row * dimensions + d] = matrix[d * dimensions + row] ?? 0
  return { dimensions, mean, matrix }
}

/** Evenly spaced rows of the covariance are a deterministic start. */
function startRow(row: number, count: number, dimensions: number): number {
  return Math.floor((row * dimensions) / count) * dimensions
}

function meanOf(sample: Float32Array, dimensions: number): Float64Array {
  const mean = new Float64Array(dimensions)
  for (let at = 0; at < sample.length; at += dimensions)
    for (let d = 0; d < dimensions; d++) mean[d] = (mean[d] ?? 0) + (sample[at + d] ?? 0)
  return mean.map((sum) => (sum * dimensions) / sample.length)
}

/** Multiplies each direction by the symmetric matrix. */
function multiplied(directions: Float64Array, matrix: Float64Array, dimensions: number): Float64Array<ArrayBuffer> {
  const product = new Float64Array(directions.length)
  for (let to = 0; to < directions.length; to += dimensions) {
    for (let row = 0; row < dimensions; row++) {
      const value = directions[to + row] ?? 0
      const from = row * dimensions
      for (let d = 0; d < dimensions; d++) product[to + d] = (product[to + d] ?? 0) + value * (matrix[from + d] ?? 0)
    }
  }
  return product
}

/** Modified Gram–Schmidt, in place. A direction that depends linearly on earlier ones is replaced by an axis. */
function orthonormalize(directions: Float64Array, dimensions: number): void {
  for (let row = 0; row < directions.length / dimensions; row++) {
    const own = directions.subarray(row * dimensions, (row + 1) * dimensions)
    const before = Math.sqrt(innerProduct(own, own))
    removeEarlier(directions, row, dimensions)
    if (Math.sqrt(innerProduct(own, own)) <= before * 1e-10) {
      own.fill(0)
      own[row] = 1
      removeEarlier(directions, row, dimensions)
    }
    const length = Math.sqrt(innerProduct(own, own))
    for (let d = 0; d < dimensions; d++) own[d] = (own[d] ?? 0) / length
  }
}

function removeEarlier(directions: Float64Array, row: number, dimensions: number): void {
  const own = directions.subarray(row * dimensions, (row + 1) * dimensions)
  for (let earlier = 0; earlier < row; earlier++) {
    const other = directions.subarray(earlier * dimensions, (earlier + 1) * dimensions)
    const along = innerProduct(own, other)
    for (let d = 0; d < dimensions; d++) own[d] = (own[d] ?? 0) - along * (other[d] ?? 0)
  }
}

function innerProduct(a: Float64Array, b: Float64Array): number {
  let sum = 0
  for (let d = 0; d < a.length; d++) sum += (a[d] ?? 0) * (b[d] ?? 0)
  return sum
}
