import { BOUNDS } from '#core/platform/bounds.ts'
import type { ProfileParameters } from '#core/domain/retrieval-profile.ts'
import type { AskContext } from './ask.ts'
import type { QueryWithQrels } from './query-with-qrels.ts'
import { compareRankings } from './metrics/comparison.ts'
import { rankingUnder, sampleWithQrels } from './ranking-under.ts'

const WEIGHTS = [0, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7] as const
/** Passages of each list: as nDCG@10 looks at. */
const LIMIT = 10

/**
 * The profile with the share of the vectors that ranks a question set best, if that is better than the profile's own
 * beyond the interval of the difference in nDCG@10. Weights that fit one corpus ruin another (decision 0008), so
 * nothing is changed on little evidence.
 */
export async function fitFusion(questions: readonly QueryWithQrels[], context: AskContext): Promise<ProfileParameters> {
  const { profile } = context
  const sample = sampleWithQrels(questions)
  if (sample.length < BOUNDS.comparedQuestionsMin) return profile
  const own = await rankingUnder(profile, sample, LIMIT, context)
  let best = { profile, mean: -1, better: false }
  for (const weight of WEIGHTS) {
    const tried = { ...profile, fusion: { ...profile.fusion, dense_weight: weight } }
    const difference = compareRankings(await rankingUnder(tried, sample, LIMIT, context), own)?.metrics['ndcg@10']
    if (difference !== undefined && difference.candidate > best.mean)
      best = { profile: tried, mean: difference.candidate, better: difference.ci[0] > 0 }
  }
  return best.better ? best.profile : profile
}

/**
 * The profile with a re-ranker, if it ranks the question set better beyond the interval of the difference in nDCG@10:
 * published results show re-rankers wrecking regulatory search, so it has to show that it helps on this one.
 */
export async function tryReranker(
  reranker: ProfileParameters['reranker'],
  questions: readonly QueryWithQrels[],
  context: AskContext,
): Promise<ProfileParameters> {
  const { profile } = context
  const sample = sampleWithQrels(questions)
  if (reranker === null || sample.length < BOUNDS.comparedQuestionsMin) return profile
  const tried = { ...profile, reranker }
  const own = await rankingUnder(profile, sample, LIMIT, context)
  const difference = compareRankings(await rankingUnder(tried, sample, LIMIT, context), own)?.metrics['ndcg@10']
  return difference !== undefined && difference.ci[0] > 0 ? tried : profile
}
