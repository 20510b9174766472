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
 * @param numberOf numbers the words that get a weight. @param relevant of each passage.
 * @returns undefined if no passage of the list is relevant.
 */
export function trainingList(
  { words, shares, byWord, byWords, byVector }: ScoreParts,
  relevant: readonly boolean[],
  numberOf: ReadonlyMap<string, number>,
): TrainingList | undefined {
  const count = relevant.filter(Boolean).length
  if (count === 0) return undefined
  const places = [...words.keys()].filter((place) => numberOf.has(words[place] ?? ''))
  const kept = new Float32Array(relevant.length * places.length)
  for (let passage = 0; passage < relevant.length; passage++)
    for (const [at, place] of places.entries())
      kept[passage * places.length + at] = byWord[passage * words.length + place] ?? 0
  return {
    words: Uint32Array.from(places, (place) => numberOf.get(words[place] ?? '') ?? 0),
    shares: Float64Array.from(places, (place) => shares[place] ?? 0),
    byWord: kept,
    byWords: Float64Array.from(byWords),
    byVector: Float64Array.from(relevant, (_, passage) => byVector[passage] ?? 0),
    ideal: Float64Array.from(relevant, (is) => (is ? 1 / count : 0)),
  }
}
