import { BOUNDS } from '#core/platform/bounds.ts'
import type { ScoreParts } from '#core/domain/search.ts'

/** The list of one question: what its scores are made of, and which passages are relevant. */
export interface TrainingList {
  /** Numbers of the words that get a weight. */
  readonly words: Uint32Array
  /** The most that each of them can add to a score by words. */
  readonly shares: Float64Array
  /** What each of them adds to each score by words; all words of the first passage come first. */
  readonly byWord: Float32Array
  /** Scores by words, with all weights at 1. */
  readonly byWords: Float64Array
  /** Standardised scores of the vectors, or cosines; 0 without a vector. */
  readonly byVector: Float64Array
  /** Probability of each passage in the ideal ranking: equal for relevant ones, 0 for others. */
  readonly ideal: Float64Array
}

/**
 * Keeps what the fit needs of a reply.
 * @param relevant of each passage; undefined: the passage is left out.
 * @param numberOf numbers the words of the question that get a weight; the first `questionWordWeightsMax` count.
 * @returns undefined if no passage of the list is relevant.
 */
export function trainingList(
  { words, shares, byWord, byWords, byVector }: ScoreParts,
  relevant: readonly (boolean | undefined)[],
  numberOf: ReadonlyMap<string, number>,
): TrainingList | undefined {
  const count = relevant.filter((is) => is === true).length
  if (count === 0) return undefined
  const passages = [...relevant.keys()].filter((passage) => relevant[passage] !== undefined)
  const places = [...words.keys()]
    .filter((place) => numberOf.has(words[place] ?? ''))
    .slice(0, BOUNDS.questionWordWeightsMax)
  const kept = new Float32Array(passages.length * places.length)
  for (const [row, passage] of passages.entries())
    for (const [at, place] of places.entries())
      kept[row * places.length + at] = byWord[passage * words.length + place] ?? 0
  return {
    words: Uint32Array.from(places, (place) => numberOf.get(words[place] ?? '') ?? 0),
    shares: Float64Array.from(places, (place) => shares[place] ?? 0),
    byWord: kept,
    byWords: Float64Array.from(passages, (passage) => byWords[passage] ?? 0),
    byVector: Float64Array.from(passages, (passage) => byVector[passage] ?? 0),
    ideal: Float64Array.from(passages, (passage) => (relevant[passage] === true ? 1 / count : 0)),
  }
}
