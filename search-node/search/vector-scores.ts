import { meanCosineOf } from '#core/index/vectors/cosine-statistics.ts'
import type { CosineStatistics } from '#core/index/vectors/cosine-statistics.ts'

/**
 * What one standard deviation of a cosine counts beside the words' score. The best passage of a natural question lies
 * about five deviations above the mean, and its words reach about 0.2.
 */
export const DEVIATION_SCORE = 0.04

/**
 * Scores of a question's cosines in a version, in the range of the words' scores.
 * @param vector the question's, of unit length.
 */
export type VectorScores = (cosines: Float64Array, vector: Float32Array) => Float64Array

export function createVectorScores(statistics: CosineStatistics): VectorScores {
  const meanOf = meanCosineOf(statistics)
  const scale = DEVIATION_SCORE / statistics.deviation
  return (cosines, vector) => {
    const mean = meanOf(vector)
    return cosines.map((cosine) => (cosine - mean) * scale)
  }
}
