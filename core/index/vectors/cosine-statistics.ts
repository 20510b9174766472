import { z } from 'zod'
import { createInnerProducts, innerProductAt } from './inner-product.ts'

/**
 * Statistics of a version's cosines, in the manifest. A cosine counts by its distance from the question's mean cosine
 * over all passages, in standard deviations. The distance means the same for every model (Bruch, Gai & Ingber 2023) and
 * does not depend on filters. The mean of a question is its inner product with the mean vector.
 */
export const cosineStatisticsSchema = z.strictObject({
  /** The mean of all vectors: float32 little-endian in base64, `dimensions` long. */
  mean: z
    .base64()
    .max(24_000)
    .refine((mean) => float32Of(mean).every(Number.isFinite), 'the mean vector is not finite'),
  /** Mean over sampled queries of the standard deviation of their cosines with all passages. */
  deviation: z.number().positive(),
})
export type CosineStatistics = z.infer<typeof cosineStatisticsSchema>

/** Rows whose cosines measure the deviation, evenly spaced. */
const DEVIATION_ROWS_MAX = 4_096
/** The deviation of vectors that are all equal; such cosines tell nothing apart. */
const DEVIATION_MIN = 1e-6

/**
 * Collects the statistics of vectors of unit length that arrive in row order.
 * @param rows that will be added; > 0.
 */
export function createCosineStatistics(rows: number, dimensions: number) {
  const sum = new Float64Array(dimensions)
  const step = Math.max(1, rows / DEVIATION_ROWS_MAX)
  const sample: Float32Array[] = []
  let row = 0
  return {
    add(vector: Float32Array) {
      for (let d = 0; d < dimensions; d++) sum[d] = (sum[d] ?? 0) + (vector[d] ?? 0)
      if (row >= sample.length * step) sample.push(vector.slice())
      row += 1
    },
    /** @param queries at least one, of unit length. */
    finish(queries: readonly Float32Array[]): CosineStatistics {
      if (queries.length === 0) throw new RangeError('cosines are measured by at least one query')
      const mean = Float32Array.from(sum, (total) => total / row)
      const cosines = createInnerProducts(queries, () => new Float64Array(sample.length))
      for (const [at, vector] of sample.entries()) cosines.add(vector, at)
      const deviations = cosines.products.map(deviationOf)
      const deviation = deviations.reduce((total, each) => total + each, 0) / queries.length
      return {
        mean: Buffer.from(mean.buffer).toString('base64'),
        deviation: Math.max(DEVIATION_MIN, Number(deviation.toPrecision(9))),
      }
    },
  }
}

function deviationOf(values: Float64Array): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length)
}

/** Returns the mean cosine of a query with all passages of a version. The query has unit length. */
export function meanCosineOf({ mean }: CosineStatistics): (query: Float32Array) => number {
  const vector = float32Of(mean)
  return (query) => innerProductAt(vector, 0, query)
}

function float32Of(base64: string): Float32Array<ArrayBuffer> {
  const bytes = Buffer.from(base64, 'base64')
  const vector = new Float32Array(Math.floor(bytes.length / 4))
  new Uint8Array(vector.buffer).set(bytes.subarray(0, vector.byteLength))
  return vector
}
