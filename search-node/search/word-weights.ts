import { weighingOf, weightedScore } from '#core/domain/word-weights.ts'
import type { WordWeight } from '#core/domain/word-weights.ts'
import type { Question } from './question.ts'
import { greatestShares } from './rescore.ts'
import type { Rescored } from './rescore.ts'

/** Returns the scores of rows under learned weights of words. A word without a weight weighs 1. */
export function weightedScores(
  question: Question,
  { scores, contributions }: Rescored,
  weights: readonly WordWeight[],
): Float64Array {
  if (weights.length === 0) return scores
  const weightOf = new Map(weights.map(({ word, weight }) => [word, weight]))
  const weighing = weighingOf(
    question.words.map(({ word }) => weightOf.get(word) ?? 1),
    greatestShares(question),
  )
  return scores.map((score, at) => weightedScore(weighing, score, contributions, at * question.words.length))
}
