import { fillGaussian, streamAt } from '../stream.ts'

/** The directions of most variance and what they hold. */
export interface Principal {
  /** Unit vectors, one after the other, by falling variance. */
  readonly directions: Float64Array
  /** Share of the whole variance along each. */
  readonly shares: readonly number[]
}

const ITERATIONS = 60
/** So many rows give the covariance. */
const ROWS_MAX = 10_000

/** Principal components of rows about their mean, by subspace iteration. */
export function principalDirections(rows: Float32Array, dimensions: number, wanted: number): Principal {
  const covariance = covarianceOf(rows, dimensions)
  const count = Math.min(wanted, dimensions)
  let directions = new Float64Array(count * dimensions)
  const start = new Float32Array(directions.length)
  fillGaussian(start, streamAt(1, 'space', 1))
  directions.set(start)
  orthonormalize(directions, count, dimensions)
  for (let iteration = 0; iteration < ITERATIONS; iteration++) {
    directions = multiplied(directions, covariance, count, dimensions)
    orthonormalize(directions, count, dimensions)
  }
  const images = multiplied(directions, covariance, count, dimensions)
  let whole = 0
  for (let d = 0; d < dimensions; d++) whole += covariance[d * dimensions + d] ?? 0
  const shares = Array.from({ length: count }, (_, at) => {
    let sum = 0
    for (let d = at * dimensions; d < (at + 1) * dimensions; d++) sum += (directions[d] ?? 0) * (images[d] ?? 0)
    return sum / whole
  })
  return { directions, shares }
}

function covarianceOf(rows: Float32Array, dimensions: number): Float64Array<ArrayBuffer> {
  const count = rows.length / dimensions
  const step = Math.max(1, Math.floor(count / ROWS_MAX))
  const mean = meanOf(rows, dimensions)
  const covariance = new Float64Array(dimensions * dimensions)
  const centred = new Float64Array(dimensions)
  for (let row = 0; row < count; row += step) {
    for (let d = 0; d < dimensions; d++) centred[d] = (rows[row * dimensions + d] ?? 0) - (mean[d] ?? 0)
    for (let i = 0; i < dimensions; i++) {
      const value = centred[i] ?? 0
      const from = i * dimensions
      for (let j = 0; j < dimensions; j++)
        covariance[from + j] = (covariance[from + j] ?? 0) + value * (centred[j] ?? 0)
    }
  }
  return covariance
}

export function meanOf(rows: Float32Array, dimensions: number): Float64Array<ArrayBuffer> {
  const mean = new Float64Array(dimensions)
  const count = rows.length / dimensions
  for (let row = 0; row < count; row++)
    for (let d = 0; d < dimensions; d++) mean[d] = (mean[d] ?? 0) + (rows[row * dimensions + d] ?? 0) / count
  return mean
}

/** Each of `count` rows times a symmetric matrix. */
function multiplied(
  rows: Float64Array,
  matrix: Float64Array,
  count: number,
  dimensions: number,
): Float64Array<ArrayBuffer> {
  const products = new Float64Array(rows.length)
  for (let at = 0; at < count; at++) {
    const into = products.subarray(at * dimensions, (at + 1) * dimensions)
    for (let i = 0; i < dimensions; i++) {
      const value = rows[at * dimensions + i] ?? 0
      const from = i * dimensions
      for (let j = 0; j < dimensions; j++) into[j] = (into[j] ?? 0) + value * (matrix[from + j] ?? 0)
    }
  }
  return products
}

/** In place, by the modified Gram–Schmidt process. */
function orthonormalize(rows: Float64Array, count: number, dimensions: number): void {
  for (let at = 0; at < count; at++) {
    const row = rows.subarray(at * dimensions, (at + 1) * dimensions)
    for (let before = 0; before < at; before++) {
      const other = rows.subarray(before * dimensions, (before + 1) * dimensions)
      let dot = 0
      for (let d = 0; d < dimensions; d++) dot += (row[d] ?? 0) * (other[d] ?? 0)
      for (let d = 0; d < dimensions; d++) row[d] = (row[d] ?? 0) - dot * (other[d] ?? 0)
    }
    const length = Math.hypot(...row)
    for (let d = 0; d < dimensions; d++) row[d] = (row[d] ?? 0) / length
  }
}

/** Coordinates of rows along directions. */
export function projected(
  rows: Float32Array,
  { directions }: Principal,
  dimensions: number,
  kept: number,
): Float32Array<ArrayBuffer> {
  const count = rows.length / dimensions
  const projections = new Float32Array(count * kept)
  for (let row = 0; row < count; row++)
    for (let at = 0; at < kept; at++) {
      let sum = 0
      for (let d = 0; d < dimensions; d++)
        sum += (rows[row * dimensions + d] ?? 0) * (directions[at * dimensions + d] ?? 0)
      projections[row * kept + at] = sum
    }
  return projections
}
