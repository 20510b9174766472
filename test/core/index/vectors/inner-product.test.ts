import { expect, test } from 'vitest'
import { mulberry32 } from '#core/platform/seeded-random.ts'
import { createInnerProducts, innerProductAt } from '#core/index/vectors/inner-product.ts'

test.each([1, 3, 4, 6])('inner products of %i queries together are those of each alone', (count) => {
  const dimensions = 24
  const random = mulberry32(count)
  const vectorOf = (length: number): Float32Array => Float32Array.from({ length }, () => random() - 0.5)
  const block = vectorOf(5 * dimensions)
  const queries = Array.from({ length: count }, () => vectorOf(dimensions))
  const together = createInnerProducts(queries, () => new Float64Array(7))
  together.add(block, 2)
  expect(together.products).toHaveLength(count)
  for (const [query, products] of together.products.entries()) {
    const own = queries[query] ?? new Float32Array(dimensions)
    const alone = [0, 1, 2, 3, 4].map((row) => innerProductAt(block, row * dimensions, own))
    for (const [at, product] of products.entries()) expect(product).toBeCloseTo(at < 2 ? 0 : (alone[at - 2] ?? 0), 12)
  }
})
