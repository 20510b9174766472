/**
 * Returns the inner product of the query and the vector at `at`. The order of addition is fixed, so every machine gets
 * the same bits. Four independent sums take a third of the time of one, where each addition waits for the previous.
 */
export function innerProductAt(block: Float32Array | Int8Array, at: number, query: Float32Array | Int8Array): number {
  let [a, b, c, e] = [0, 0, 0, 0]
  for (let d = 0; d < query.length; d += 4) {
    a += (block[at + d] ?? 0) * (query[d] ?? 0)
    b += (block[at + d + 1] ?? 0) * (query[d + 1] ?? 0)
    c += (block[at + d + 2] ?? 0) * (query[d + 2] ?? 0)
    e += (block[at + d + 3] ?? 0) * (query[d + 3] ?? 0)
  }
  return a + b + (c + e)
}

/** Inner products of queries with vectors, each list by row. */
export interface InnerProducts<A extends Float32Array | Float64Array> {
  /** @param vectors concatenated. @param first row of the first one. */
  add(vectors: Float32Array, first: number): void
  /** In the order of the queries. */
  readonly products: readonly A[]
}

/** Queries whose inner products are computed together. */
const TOGETHER = 4

/**
 * Computes the inner products of many queries with vectors. Each value of a vector is read and converted once for four
 * queries, so that it takes less time than `innerProductAt` for each query; the last bits may differ from it.
 * @param listOf makes a list of one value a row.
 */
export function createInnerProducts<A extends Float32Array | Float64Array>(
  queries: readonly Float32Array[],
  listOf: () => A,
): InnerProducts<A> {
  const groups = Array.from({ length: Math.ceil(queries.length / TOGETHER) }, (_, group) => {
    const own = queries.slice(group * TOGETHER, (group + 1) * TOGETHER)
    return { together: sideBySide(own), into: [listOf(), listOf(), listOf(), listOf()] as const }
  })
  return {
    add(vectors, first) {
      for (const { together, into } of groups) addProducts(into, vectors, together, first)
    },
    products: groups.flatMap(({ into }) => into).slice(0, queries.length),
  }
}

/** Value d of query q is at 4 d + q. Absent queries are zero. */
function sideBySide(queries: readonly Float32Array[]): Float64Array {
  const together = new Float64Array((queries[0]?.length ?? 0) * TOGETHER)
  for (const [at, query] of queries.entries())
    for (const [d, value] of query.entries()) together[d * TOGETHER + at] = value
  return together
}

function addProducts<A extends Float32Array | Float64Array>(
  [ofFirst, ofSecond, ofThird, ofFourth]: readonly [A, A, A, A],
  vectors: Float32Array,
  together: Float64Array,
  first: number,
): void {
  for (let row = first, d = 0; d < vectors.length; row++) {
    let [a, b, c, e] = [0, 0, 0, 0]
    for (let q = 0; q < together.length; d++, q += TOGETHER) {
      const value = vectors[d] ?? 0
      a += value * (together[q] ?? 0)
      b += value * (together[q + 1] ?? 0)
      c += value * (together[q + 2] ?? 0)
      e += value * (together[q + 3] ?? 0)
    }
    ofFirst[row] = a
    ofSecond[row] = b
    ofThird[row] = c
    ofFourth[row] = e
  }
}
