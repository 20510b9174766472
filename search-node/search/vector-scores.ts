/**
 * What one standard deviation of a cosine counts beside the words' score. The best passage of a natural question lies
 * about five deviations above the mean, and its words reach about 0.2.
 */
const DEVIATION_SCORE = 0.04

/** How the cosines of a version spread; see `core/index/vectors/cosine-statistics.ts`. */
export interface CosineSpread {
  readonly deviation: number
  /** Mean cosine of a question with all passages. @param vector unit length. */
  mean(vector: Float32Array): number
}

/** Scores of vectors in a version. */
export interface VectorScores {
  /** False: cosines count as they are. */
  readonly standardised: boolean
  /** Scores of a question's cosines, in the range of the words' scores if standardised. @param vector unit length. */
  of(cosines: Float64Array, vector: Float32Array): Float64Array
}

/** @param spread undefined: the cosines count as they are. */
export function createVectorScores(spread: CosineSpread | undefined): VectorScores {
  if (spread === undefined) return { standardised: false, of: (cosines) => cosines }
  const scale = DEVIATION_SCORE / spread.deviation
  return {
    standardised: true,
    of(cosines, vector) {
      const mean = spread.mean(vector)
      return cosines.map((cosine) => (cosine - mean) * scale)
    },
  }
}
