import type { WordWeight } from '#core/domain/word-weights.ts'
import type { Question } from './question.ts'
import { greatestShares } from './rescore.ts'
import type { Rescored } from './rescore.ts'

/** Weights that leave less of the greatest possible score to the words are ignored: hardly any word would count. */
const LEFT_MIN = 0.01

/**
 * Returns the scores with a weight on what each word adds to them and to the greatest possible score; see decision
 * 0034. A word without a weight weighs 1.
 * @returns in [0, 1].
 */
export function weightedScores(
  question: Question,
  { scores, contributions }: Rescored,
  weights: readonly WordWeight[],
): Float64Array {
  if (weights.length === 0) return scores
  const weightOf = new Map(weights.map(({ word, weight }) => [word, weight]))
  const shares = greatestShares(question)
  const gains = question.words.map(({ word }) => (weightOf.get(word) ?? 1) - 1)
  const left = shares.reduce((sum, share, place) => sum + (1 + (gains[place] ?? 0)) * share, 0)
  if (left < LEFT_MIN) return scores
  const greatest = shares.reduce((sum, share, place) => sum + (gains[place] ?? 0) * share, 1)
  return scores.map((score, at) => {
    let weighted = score
    for (let place = 0; place < gains.length; place++)
      weighted += (gains[place] ?? 0) * (contributions[at * gains.length + place] ?? 0)
    return Math.min(1, Math.max(0, weighted / greatest))
  })
}
