import { MetricKind, exactSearch } from 'usearch'

/** Vectors that one native call compares with the directions. */
const BATCH_ROWS = 2_000

/** Concatenated int8 vectors, each in its own scale. */
export interface QuantizedVectors {
  readonly values: Int8Array
  readonly dimensions: number
  /** Native threads of one comparison; no result depends on it. */
  readonly threads: number
  /** Runs between two native calls: yields to other work, or throws to stop. */
  readonly pause: () => Promise<void>
}

/**
 * The nearest directions of each vector, nearest first, and their inner products with it. Larger is nearer. Products
 * are comparable within one vector only.
 */
export interface Nearest {
  readonly directions: Uint32Array
  readonly products: Float32Array
}

/**
 * Returns the `count` nearest directions of each vector by angle. All comparisons are sums of integers, so every
 * machine gets the same result.
 * @param directions int8 in one scale, concatenated.
 */
export async function nearestDirections(
  vectors: QuantizedVectors,
  directions: Int8Array,
  count: number,
): Promise<Nearest> {
  const { values, dimensions, threads, pause } = vectors
  const rows = values.length / dimensions
  const nearest = { directions: new Uint32Array(rows * count), products: new Float32Array(rows * count) }
  for (let row = 0; row < rows; row += BATCH_ROWS) {
    const batch = values.slice(row * dimensions, (row + BATCH_ROWS) * dimensions)
    const { keys, distances } = exactSearch(directions, batch, dimensions, count, MetricKind.IP, threads)
    nearest.directions.set(lowWords(keys), row * count)
    nearest.products.set(
      distances.map((distance) => 1 - distance),
      row * count,
    )
    await pause()
  }
  return nearest
}

/** Returns the low 32 bits of each key. Keys are row numbers that fit 32 bits. */
export function lowWords(keys: BigUint64Array): Uint32Array {
  const words = new Uint32Array(keys.buffer, keys.byteOffset, keys.length * 2)
  const low = new Uint32Array(keys.length)
  for (let at = 0; at < low.length; at++) low[at] = words[at * 2] ?? 0
  return low
}

/** 1 / length of each vector. */
export function inverseLengths(values: Int8Array, dimensions: number): Float64Array {
  const inverse = new Float64Array(values.length / dimensions)
  for (let row = 0; row < inverse.length; row++) {
    let squares = 0
    for (let at = row * dimensions; at < (row + 1) * dimensions; at++) squares += (values[at] ?? 0) ** 2
    inverse[row] = squares === 0 ? 0 : 1 / Math.sqrt(squares)
  }
  return inverse
}

/** Returns the weighted sum of the vectors of each of `sets` sets. */
export function sumsByMember(
  vectors: Pick<QuantizedVectors, 'values' | 'dimensions'>,
  weights: Float64Array,
  member: Uint32Array,
  sets: number,
): Float64Array {
  const { values, dimensions } = vectors
  const sums = new Float64Array(sets * dimensions)
  for (const [row, set] of member.entries()) {
    const weight = weights[row] ?? 0
    const to = set * dimensions
    const from = row * dimensions
    for (let d = 0; d < dimensions; d++) sums[to + d] = (sums[to + d] ?? 0) + (values[from + d] ?? 0) * weight
  }
  return sums
}
