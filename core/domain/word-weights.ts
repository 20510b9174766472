import { z } from 'zod'
import { BOUNDS } from '#core/platform/bounds.ts'
import { words } from '#core/index/analysis/words.ts'

/** A word of a question and the factor of what it adds to a passage's score by words; 1 changes nothing. */
export interface WordWeight {
  /** Folded. */
  readonly word: string
  readonly weight: number
}

export const wordWeightSchema = z.number().min(0).max(BOUNDS.wordWeightMax)
export const weightedWordSchema = z.string().min(1).max(BOUNDS.weightedWordCharactersMax)

/** Learned weights by folded word. A word without one weighs 1. */
export const wordWeightsSchema = z
  .record(weightedWordSchema, wordWeightSchema)
  .refine((weights) => Object.keys(weights).length <= BOUNDS.wordWeightsMax)
export type WordWeights = z.infer<typeof wordWeightsSchema>

/** The words of a question that may have a weight: the first distinct ones that are not too long. */
export function weighableWords(text: string): readonly string[] {
  const short = words(text).filter((word) => word !== '' && word.length <= BOUNDS.weightedWordCharactersMax)
  return [...new Set(short)].slice(0, BOUNDS.questionWordWeightsMax)
}

/** The weights of a question's words. @param weights null: none were learned. */
export function wordWeightsIn(text: string, weights: WordWeights | null): readonly WordWeight[] {
  if (weights === null) return []
  return weighableWords(text).flatMap((word) => {
    const weight = Object.hasOwn(weights, word) ? weights[word] : undefined
    return weight === undefined ? [] : [{ word, weight }]
  })
}
