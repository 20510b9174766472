import type { ProfileParameters } from '#core/domain/retrieval-profile.ts'
import type { AskContext } from './ask.ts'
import { embedOnce } from './embed-once.ts'
import { fitFusion, tryReranker } from './fusion.ts'
import type { QueryWithQrels } from './query-with-qrels.ts'
import { learnWordWeights } from './word-weights/learn.ts'
import type { LearnedWordWeights } from './word-weights/learn.ts'

export interface FittedRanking {
  readonly profile: ProfileParameters
  readonly wordWeights: LearnedWordWeights
}

/**
 * Fits the ranking to a question set: the weight of the vectors, then weights of words, then a re-ranker if it ranks
 * better. Known items are not fitted, since they are found by their own words.
 * @param reranker to try; null: none.
 */
export async function fitRanking(
  reranker: ProfileParameters['reranker'],
  questions: readonly QueryWithQrels[],
  context: AskContext,
): Promise<FittedRanking> {
  const asking = { ...context, embedder: embedOnce(context.embedder) }
  const profile = await fitFusion(questions, asking)
  const wordWeights = await learnWordWeights(questions, { ...asking, profile })
  const weighted = { ...asking, profile, wordWeightsOf: wordWeights.heldOut }
  return { profile: await tryReranker(reranker, questions, weighted), wordWeights }
}
