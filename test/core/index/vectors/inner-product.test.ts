import { expect, test } from 'vitest'
import { mulberry32 } from '#core/platform/seeded-random.ts'
import {
  QUERIES_TOGETHER,
  innerProductAt,
  innerProductsAt,
  queriesTogether,
} from '#core/index/vectors/inner-product.ts'

test.each([1, 3, QUERIES_TOGETHER])('inner products of %i queries together are those of each alone', (count) => {
  const dimensions = 24
  const random = mulberry32(count)
  const vectorOf = (length: number): Float32Array => Float32Array.from({ length }, () => random() - 0.5)
  const block = vectorOf(5 * dimensions)
  const queries = Array.from({ length: count }, () => vectorOf(dimensions))
  const together = queriesTogether(queries, dimensions)
  const products = new Float64Array(QUERIES_TOGETHER)
  for (let at = 0; at < block.length; at += dimensions) {
    innerProductsAt(block, at, together, products)
    for (const [query, product] of products.entries()) {
      const alone = queries[query] === undefined ? 0 : innerProductAt(block, at, queries[query])
      expect(product).toBeCloseTo(alone, 12)
    }
  }
})
