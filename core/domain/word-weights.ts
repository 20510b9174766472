import { z } from 'zod'
import { BOUNDS } from '#core/platform/bounds.ts'
import { words } from '#core/index/analysis/words.ts'

/** A word of a question and the factor of what it adds to a passage's score by words; 1 changes nothing. */
export interface WordWeight {
  /** Folded. */
  readonly word: string
  readonly weight: number
}

/** Above 0, so that words keep a part of the greatest possible score. */
export const WORD_WEIGHT_MIN = 0.1
export const WORD_WEIGHT_MAX = 3
export const wordWeightSchema = z.number().min(WORD_WEIGHT_MIN).max(WORD_WEIGHT_MAX)
export const weightedWordSchema = z.string().min(1).max(BOUNDS.weightedWordCharactersMax)

/** Learned weights by folded word. A word without one weighs 1. */
export const wordWeightsSchema = z
  .record(weightedWordSchema, wordWeightSchema)
  .refine((weights) => Object.keys(weights).length <= BOUNDS.wordWeightsMax)
export type WordWeights = z.infer<typeof wordWeightsSchema>

/** The distinct folded words of a question that may have a weight: all that are not too long. */
export function weighableWords(text: string): readonly string[] {
  return [...new Set(words(text))].filter((word) => word !== '' && word.length <= BOUNDS.weightedWordCharactersMax)
}

/** The weights of a question's words, of the first `questionWordWeightsMax`. @param weights null: none were learned. */
export function wordWeightsIn(text: string, weights: WordWeights | null): readonly WordWeight[] {
  if (weights === null) return []
  const found = weighableWords(text).flatMap((word) => {
    const weight = Object.hasOwn(weights, word) ? weights[word] : undefined
    return weight === undefined ? [] : [{ word, weight }]
  })
  return found.slice(0, BOUNDS.questionWordWeightsMax)
}

/** How weights change scores by words: what each word's part gains, and the greatest possible score, which was 1. */
export interface Weighing {
  readonly gains: Float64Array
  readonly greatest: number
}

/** @param weights each above 0. @param shares the most that each word can add to a score; at most 1 in all. */
export function weighingOf(weights: ArrayLike<number>, shares: ArrayLike<number>): Weighing {
  const gains = Float64Array.from(weights, (weight) => weight - 1)
  let greatest = 1
  for (let place = 0; place < gains.length; place++) greatest += (gains[place] ?? 0) * (shares[place] ?? 0)
  return { gains, greatest }
}

/**
 * A score by words under weights; see decision 0034.
 * @param score in [0, 1], with all weights at 1. @param byWord what each word adds to it, from place `first` on.
 * @returns in [0, 1].
 */
export function weightedScore(
  { gains, greatest }: Weighing,
  score: number,
  byWord: ArrayLike<number>,
  first: number,
): number {
  let weighted = score
  for (let place = 0; place < gains.length; place++) weighted += (gains[place] ?? 0) * (byWord[first + place] ?? 0)
  return Math.min(1, Math.max(0, weighted / greatest))
}
