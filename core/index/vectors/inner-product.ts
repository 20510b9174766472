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

/** Queries whose inner products are computed together. */
export const QUERIES_TOGETHER = 4

/** Up to four queries side by side: value d of query q is at 4 d + q. Absent queries are zero. */
export function queriesTogether(queries: readonly Float32Array[], dimensions: number): Float64Array {
  const together = new Float64Array(dimensions * QUERIES_TOGETHER)
  for (const [at, query] of queries.entries())
    for (let d = 0; d < dimensions; d++) together[d * QUERIES_TOGETHER + at] = query[d] ?? 0
  return together
}

/**
 * Writes the inner products of four queries and the vector at `at` to `products`, in a fifth of the time that each alone
 * would take, because each value of the vector is read and converted once. Their last bits may differ from those of
 * `innerProductAt`.
 */
export function innerProductsAt(block: Float32Array, at: number, together: Float64Array, products: Float64Array): void {
  let [a, b, c, e] = [0, 0, 0, 0]
  for (let d = at, q = 0; q < together.length; d++, q += QUERIES_TOGETHER) {
    const value = block[d] ?? 0
    a += value * (together[q] ?? 0)
    b += value * (together[q + 1] ?? 0)
    c += value * (together[q + 2] ?? 0)
    e += value * (together[q + 3] ?? 0)
  }
  products[0] = a
  products[1] = b
  products[2] = c
  products[3] = e
}
