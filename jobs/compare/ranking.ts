import { OperatorError } from '#core/platform/errors.ts'
import type { AskContext } from '#jobs/evaluation/ask.ts'
import { compareRankings } from '#jobs/evaluation/metrics/comparison.ts'
import type { RankingComparison } from '#jobs/evaluation/metrics/comparison.ts'
import type { RankingFigures } from '#jobs/evaluation/metrics/ranking.ts'
import type { QueryWithQrels } from '#jobs/evaluation/query-with-qrels.ts'
import { rankingUnder } from '#jobs/evaluation/ranking-under.ts'
import { NoSearchNodeError, prepareOnLiveNodes } from '#jobs/search-nodes.ts'
import type { ActiveVersion } from './active-version.ts'

export interface RankingInput {
  readonly active: ActiveVersion
  readonly questions: readonly QueryWithQrels[]
  /** The candidate's figures by question id, where they were measured already. */
  readonly candidate: ReadonlyMap<string, RankingFigures> | undefined
  /** Number of passages requested; recall@100 and the set of candidates depend on it. */
  readonly limit: number
  /** Context in which the candidate is asked. */
  readonly context: AskContext
}

/**
 * Compares the candidate's ranking with that of the active version on the same questions.
 * @throws NoSearchNodeError where no search node can serve the active version now; OperatorError where the versions
 * share no question with a relevant record.
 */
export async function compareRanking(input: RankingInput): Promise<RankingComparison> {
  const { active, questions, limit, context } = input
  const { loaded, failed } = await prepareOnLiveNodes(context.nodes, active, context.signal)
  if (loaded.length === 0) throw new NoSearchNodeError('the active version', failed)
  const { facets, profile, embedder, versionId } = active
  const before = await rankingUnder(profile, questions, limit, {
    ...context,
    facets,
    embedder,
    nodes: loaded,
    versionId,
  })
  const after = input.candidate ?? (await rankingUnder(context.profile, questions, limit, context))
  const comparison = compareRankings(after, before)
  if (comparison === undefined)
    throw new OperatorError(
      'The candidate and the active version share no question with a relevant passage: build with a question set ' +
        'that names relevant passages.',
    )
  return comparison
}
