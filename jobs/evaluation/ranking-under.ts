import type { ProfileParameters } from '#core/domain/retrieval-profile.ts'
import { askRecords, servedMode } from './ask.ts'
import type { AskRecordsContext } from './ask.ts'
import type { QueryWithQrels } from './query-with-qrels.ts'
import { compareRankings } from './metrics/comparison.ts'
import type { RankingFigures } from './metrics/ranking.ts'
import { outcomeOf } from './outcomes.ts'

/**
 * Returns questions with qrels in the order of their ids, an evenly spaced sample. The same questions in any order give
 * the same sample.
 */
export function sampleWithQrels(questions: readonly QueryWithQrels[], countMax: number): readonly QueryWithQrels[] {
  const withQrels = questions.filter(({ qrels }) => qrels.size > 0).sort((a, b) => (a.id < b.id ? -1 : 1))
  const count = Math.min(withQrels.length, countMax)
  return Array.from({ length: count }, (_, at) => withQrels[Math.floor((at * withQrels.length) / count)]).filter(
    (question) => question !== undefined,
  )
}

/**
 * Returns the figures by question id under a profile.
 * @param limit passages of each list.
 */
export async function rankingUnder(
  profile: ProfileParameters,
  questions: readonly QueryWithQrels[],
  limit: number,
  context: AskRecordsContext,
): Promise<ReadonlyMap<string, RankingFigures>> {
  const found = new Map<string, RankingFigures>()
  await askRecords(
    questions,
    { ...context, profile, modes: [servedMode(context)], limit },
    (_, _mode, reply, question) => {
      const { figures } = outcomeOf(question, reply)
      if (figures !== undefined) found.set(question.id, figures)
    },
  )
  return found
}

/** Whether the difference in nDCG@10 lies above zero with its whole interval. @param tried figures by question id. */
export function ranksBetter(
  tried: ReadonlyMap<string, RankingFigures>,
  known: ReadonlyMap<string, RankingFigures>,
): boolean {
  const difference = compareRankings(tried, known)?.metrics['ndcg@10']
  return difference !== undefined && difference.ci[0] > 0
}
