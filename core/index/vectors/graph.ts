import { Index, MetricKind, ScalarKind } from 'usearch'

/** Links of a point, and points looked at for them; see decision 0027. */
const CONNECTIVITY = 64
const EXPANSION_ADD = 512
/** Points that one call adds. */
const BATCH = 1_024
/** Points looked at for each one that is wanted. */
const SEARCH_FACTOR = 1.25
/** Points looked at to find the nearest one. */
const ASSIGN_EXPANSION = 32

/** Searches of mapped graphs. Threads that are given the same array count together. */
export const graphSearches = { count: new BigInt64Array(1) }

export type BuiltGraph = ReturnType<typeof buildGraph>

/**
 * Builds a graph of points. Its bytes depend on the points and on the constants here alone: one thread adds them, and
 * inner products of int8 are the same on every processor.
 *
 * usearch scales each point to one length before it rounds to int8. A further component gives all points the same
 * length, so that the scale is one for all, and inner products stay comparable.
 * @param points concatenated.
 */
export function buildGraph(points: Float32Array, dimensions: number) {
  const index = createIndex(dimensions, CONNECTIVITY)
  const wide = withEqualLengths(points, dimensions)
  const width = dimensions + 1
  const count = points.length / dimensions
  for (let from = 0; from < count; from += BATCH) {
    const to = Math.min(count, from + BATCH)
    const keys = BigUint64Array.from({ length: to - from }, (_, at) => BigInt(from + at))
    index.add(keys, wide.slice(from * width, to * width), 1)
  }
  return {
    connectivity: CONNECTIVITY,
    /** The file is not synced. */
    save: (path: string) => index.save(path),
    /** @param vectors concatenated. @returns the nearest point of each vector. */
    assign: (vectors: Float32Array) => lowWords(index.search(padded(vectors, dimensions), 1, 1).keys),
    nearest: (vector: Float32Array, wanted: number) => nearestIn(index, vector, dimensions, count, wanted),
  }
}

/**
 * Maps a verified file; it is unmapped when the graph is collected. usearch checks nothing in it: damage ends the
 * process or gives wrong points.
 * @throws Error if the file holds another graph than its manifest says.
 */
export function openGraph(path: string, dimensions: number, count: number, connectivity: number) {
  let index: Index | undefined = createIndex(dimensions, connectivity)
  index.view(path)
  // `view` takes all of these from the file.
  if (index.size() !== count || index.dimensions() !== dimensions + 1 || index.connectivity() !== connectivity)
    throw new Error('graph.usearch is not the graph that the manifest describes')
  return {
    nearest(vector: Float32Array, wanted: number) {
      if (index === undefined) throw new Error('a graph was searched after it was closed')
      Atomics.add(graphSearches.count, 0, 1n)
      return nearestIn(index, vector, dimensions, count, wanted)
    },
    /** Lets the mapping go, with the next garbage collection. */
    close() {
      index = undefined
    },
  }
}

function createIndex(dimensions: number, connectivity: number): Index {
  return new Index({
    dimensions: dimensions + 1,
    metric: MetricKind.IP,
    quantization: ScalarKind.I8,
    connectivity,
    expansion_add: EXPANSION_ADD,
    expansion_search: ASSIGN_EXPANSION,
    multi: false,
  })
}

/** @returns the points with the largest inner products, nearest first, `wanted` of them or nearly so many. */
function nearestIn(index: Index, vector: Float32Array, dimensions: number, count: number, wanted: number): Uint32Array {
  // A search looks at as many points as it returns.
  const expansion = Math.min(count, Math.ceil(wanted * SEARCH_FACTOR))
  return lowWords(index.search(padded(vector, dimensions), expansion, 1).keys).subarray(0, wanted)
}

/** Vectors with a further component of 0. */
function padded(vectors: Float32Array, dimensions: number): Float32Array<ArrayBuffer> {
  const wider = new Float32Array((vectors.length / dimensions) * (dimensions + 1))
  for (let from = 0, to = 0; from < vectors.length; from += dimensions, to += dimensions + 1)
    wider.set(vectors.subarray(from, from + dimensions), to)
  return wider
}

/** Points with a further component that gives all of them the length of the longest. */
function withEqualLengths(points: Float32Array, dimensions: number): Float32Array<ArrayBuffer> {
  const squares = new Float64Array(points.length / dimensions)
  for (const [at, value] of points.entries()) {
    const point = Math.floor(at / dimensions)
    squares[point] = (squares[point] ?? 0) + value * value
  }
  const longest = squares.reduce((most, square) => Math.max(most, square), 0)
  const wider = padded(points, dimensions)
  for (const [point, square] of squares.entries())
    wider[point * (dimensions + 1) + dimensions] = Math.sqrt(Math.max(0, longest - square))
  return wider
}

/** The low 32 bits of each key; keys are numbers of points. */
function lowWords(keys: BigUint64Array): Uint32Array {
  const words = new Uint32Array(keys.buffer, keys.byteOffset, keys.length * 2)
  const low = new Uint32Array(keys.length)
  for (let at = 0; at < low.length; at++) low[at] = words[at * 2] ?? 0
  return low
}
