import { BOUNDS } from '#core/platform/bounds.ts'
import type { ProfileParameters } from '#core/domain/retrieval-profile.ts'
import type { AskContext } from './ask.ts'
import type { QueryWithQrels } from './query-with-qrels.ts'
import { compareRankings } from './metrics/comparison.ts'
import { rankingUnder, sampleWithQrels } from './ranking-under.ts'

const WEIGHTS = [0, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7] as const
/** Passages of each list, the depth of nDCG@10. */
const LIMIT = 10

/**
 * Returns the profile with the share of the vectors that ranks a question set best. The share changes only if the whole
 * interval of the difference in nDCG@10 lies above zero. Weights that fit one corpus degrade another (decision 0008),
 * so a change needs strong evidence.
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
 * Returns the profile with a re-ranker, if the whole interval of the difference in nDCG@10 lies above zero. Published
 * results show that re-rankers can degrade regulatory search, so a gain on this question set is required.
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
