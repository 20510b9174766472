import { meanCosineOf, type CosineStatistics } from '#core/index/vectors/cosine-statistics.ts'
import type { VectorScores } from './interfaces.ts'

/** Candidates of both rankings in parallel columns; every candidate has the score of each ranking that ran. */
export interface Candidates {
  readonly rows: Uint32Array
  /** In [0, 1]; 0: shares no word with the query. Undefined: no lexical ranking. */
  readonly lexical: Float64Array | undefined
  /** Shares of query expansions, in [0, 1]. Undefined: the version has none. */
  readonly asked?: Float64Array | undefined
  /** See `createVectorScores`; without bounds. Undefined: no dense ranking. */
  readonly dense: Float64Array | undefined
}

/**
 * Weight of the z-score of a cosine beside the words' score. The best passage of a field question has a z-score of
 * about five, and its words reach about 0.2.
 */
export const Z_SCORE_WEIGHT = 0.04

export function createVectorScores(statistics: CosineStatistics): VectorScores {
  const meanOf = meanCosineOf(statistics)
  const scale = Z_SCORE_WEIGHT / statistics.deviation
  return (cosines, vector) => {
    const mean = meanOf(vector)
    return cosines.map((cosine) => (cosine - mean) * scale)
  }
}

/**
 * A score times itself, with its sign. So each ranking counts by what it knows of the question: a passage that holds a
 * tenth of the words has a hundredth of what all of them would give (decision 0008). So has one that lies hardly nearer
 * than many others.
 */
function squared(score: number): number {
  return score * Math.abs(score)
}

/**
 * Quadratic fusion: returns one score of at most 1 per candidate, the weighted sum of both squares (Bruch, Gai & Ingber
 * 2023), mapped into (0, 1). If words alone ranked, returns their scores; if vectors alone ranked, theirs, mapped into
 * (0, 1). Query expansions add to the words and count alike; see decision 0008. Their sum has no bound at 1, so a
 * passage without query expansions weighs as much against vectors as it does in a version that has none.
 */
export function fuse({ rows, lexical, asked, dense }: Candidates, denseWeight: number): Float64Array {
  if (lexical === undefined) return dense?.map(intoUnit) ?? new Float64Array(rows.length)
  if (dense === undefined)
    return asked === undefined ? lexical.slice() : lexical.map((score, at) => intoUnit(score + (asked[at] ?? 0)))
  return lexical.map((score, at) => {
    const words = squared(score) + squared(asked?.[at] ?? 0)
    return intoUnit((1 - denseWeight) * words + denseWeight * squared(dense[at] ?? 0))
  })
}

/** Scores from here to 1 less this stay as they are. */
const UNIT_EDGE = 0.05

/**
 * Maps any number into (0, 1). The map is strictly increasing, so passages far below the mean keep their order.
 * Hyperbolas replace the line outside the edges. They use no function whose rounding depends on the machine.
 */
function intoUnit(score: number): number {
  if (score < UNIT_EDGE) return UNIT_EDGE ** 2 / (2 * UNIT_EDGE - score)
  if (score > 1 - UNIT_EDGE) return 1 - UNIT_EDGE ** 2 / (score - 1 + 2 * UNIT_EDGE)
  return score
}
