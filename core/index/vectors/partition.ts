import { inverseLengths, nearestDirections, sumsByMember } from './nearest.ts'
import type { QuantizedVectors } from './nearest.ts'
import { quantizeTogether } from './quantize.ts'

/** Sampled vectors per learned direction. More hardly change it. */
const SAMPLE_PER_DIRECTION = 48
const ITERATIONS = 8
/** Vectors gathered at once. */
const PIECE_ROWS = 50_000

/** Nearest groups whose cells are compared with a vector. More hardly improve the assignment. */
const GROUPS_TRIED = 4

/**
 * Divides vectors into about `cells` clusters by spherical k-means (Dhillon & Modha 2001) on two levels: √cells groups,
 * then each group's share of the cells. A vector is assigned to the nearest cell of its nearest groups, which costs
 * about 5 √cells comparisons instead of `cells`. The initial directions depend only on the order of the vectors.
 * @returns the cell of each vector. Cells are numbered from 0 without gaps, those of a group consecutively.
 */
export async function partition(
  vectors: QuantizedVectors,
  cells: number,
): Promise<{ readonly cellOf: Uint32Array; readonly cells: number }> {
  const rows = vectors.values.length / vectors.dimensions
  const groups = await learn(vectors, Math.max(1, Math.round(Math.sqrt(cells))))
  const tried = Math.min(GROUPS_TRIED, groups.length / vectors.dimensions)
  const near = await nearestDirections(vectors, quantizeTogether(groups).quantized, tried)
  const owned = membersOf(near.directions.filter((_, at) => at % tried === 0))
  const learned: Float64Array[] = []
  for (const group of range(groups.length / vectors.dimensions)) {
    const members = owned.get(group)
    const share = Math.round((cells * (members?.length ?? 0)) / rows)
    learned.push(
      members === undefined
        ? new Float64Array(0)
        : await learn({ ...vectors, values: gatherRows(vectors, members) }, Math.max(1, share)),
    )
  }
  return numbered(await nearestCells(vectors, near.directions, tried, learned))
}

/**
 * Returns the nearest cell of each vector among the cells of its nearest groups. Cells are numbered group after group.
 */
async function nearestCells(
  vectors: QuantizedVectors,
  groupsOf: Uint32Array,
  tried: number,
  learned: readonly Float64Array[],
): Promise<Uint32Array> {
  const { dimensions } = vectors
  const { quantized } = quantizeTogether(concatenated(learned))
  const best = new Float32Array(groupsOf.length / tried).fill(-Infinity)
  const cellOf = new Uint32Array(best.length)
  const askedOf = membersOf(groupsOf)
  let first = 0
  for (const [group, directions] of learned.entries()) {
    const cells = directions.length / dimensions
    const asking =
      cells === 0 ? new Uint32Array() : (askedOf.get(group) ?? new Uint32Array()).map((at) => Math.floor(at / tried))
    for (let at = 0; at < asking.length; at += PIECE_ROWS) {
      const piece = asking.subarray(at, at + PIECE_ROWS)
      const own = quantized.slice(first * dimensions, (first + cells) * dimensions)
      const { directions: nearest, products } = await nearestDirections(
        { ...vectors, values: gatherRows(vectors, piece) },
        own,
        1,
      )
      for (const [position, row] of piece.entries()) {
        if ((products[position] ?? 0) <= (best[row] ?? 0)) continue
        best[row] = products[position] ?? 0
        cellOf[row] = first + (nearest[position] ?? 0)
      }
    }
    first += cells
  }
  return cellOf
}

/** Renumbers the cells without gaps. */
function numbered(cellOf: Uint32Array): { readonly cellOf: Uint32Array; readonly cells: number } {
  const numbers = new Map([...new Set(cellOf)].sort((a, b) => a - b).map((cell, number) => [cell, number]))
  return { cellOf: cellOf.map((cell) => numbers.get(cell) ?? 0), cells: numbers.size }
}

/**
 * Returns `k` unit vectors, or one per vector if there are fewer. Each is the mean direction of the sampled vectors
 * nearest to it.
 */
async function learn(vectors: QuantizedVectors, k: number): Promise<Float64Array> {
  const { dimensions } = vectors
  const rows = vectors.values.length / dimensions
  const sample = { ...vectors, values: gatherRows(vectors, strided(rows, k * SAMPLE_PER_DIRECTION)) }
  const inverse = inverseLengths(sample.values, dimensions)
  let directions = units(Float64Array.from(gatherRows(sample, strided(inverse.length, k))), dimensions)
  const learned = directions.length / dimensions
  for (let iteration = 0; iteration < ITERATIONS; iteration++) {
    const { directions: nearest } = await nearestDirections(sample, quantizeTogether(directions).quantized, 1)
    directions = units(sumsByMember(sample, inverse, nearest, learned), dimensions, directions)
  }
  return directions
}

/** Scales sums to unit length. A zero sum keeps its value in `before`. */
export function units(sums: Float64Array, dimensions: number, before: Float64Array = sums): Float64Array {
  const out = new Float64Array(sums.length)
  for (let at = 0; at < sums.length; at += dimensions) {
    let squares = 0
    for (let d = at; d < at + dimensions; d++) squares += (sums[d] ?? 0) ** 2
    for (let d = at; d < at + dimensions; d++)
      out[d] = squares === 0 ? (before[d] ?? 0) : (sums[d] ?? 0) / Math.sqrt(squares)
  }
  return out
}

/** Returns at most `count` of `rows` rows, evenly spaced. */
export function strided(rows: number, count: number): Uint32Array {
  const taken = Math.min(rows, count)
  return Uint32Array.from({ length: taken }, (_, at) => Math.floor((at * rows) / taken))
}

export function gatherRows(
  { values, dimensions }: Pick<QuantizedVectors, 'values' | 'dimensions'>,
  rows: Uint32Array,
): Int8Array<ArrayBuffer> {
  const gathered = new Int8Array(rows.length * dimensions)
  for (const [at, row] of rows.entries())
    gathered.set(values.subarray(row * dimensions, (row + 1) * dimensions), at * dimensions)
  return gathered
}

/** The positions that hold each value, ascending. */
function membersOf(values: Uint32Array): Map<number, Uint32Array> {
  const counts = new Map<number, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  const members = new Map([...counts].map(([value, count]) => [value, new Uint32Array(count)]))
  for (let at = values.length - 1; at >= 0; at--) {
    const value = values[at] ?? 0
    const left = (counts.get(value) ?? 0) - 1
    counts.set(value, left)
    const ofValue = members.get(value)
    if (ofValue !== undefined) ofValue[left] = at
  }
  return members
}

function range(count: number): readonly number[] {
  return Array.from({ length: count }, (_, at) => at)
}

function concatenated(parts: readonly Float64Array[]): Float64Array {
  const whole = new Float64Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}
