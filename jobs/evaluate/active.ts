import type { Facets } from '#core/index/facets/layout.ts'
import type { Embedder } from '#core/embedding/embedder.ts'
import type { ProfileParameters } from '#core/domain/retrieval-profile.ts'
import { prepareOnLiveNodes } from '#jobs/search-nodes.ts'
import type { Projection } from '#jobs/search-nodes.ts'
import type { AskContext } from './ask.ts'
import type { QueryWithQrels } from './query-with-qrels.ts'
import { compareRankings } from './metrics/comparison.ts'
import type { Outcome } from './outcomes.ts'
import type { EvaluationReport } from './page/evaluation-report.ts'
import { rankingUnder } from './ranking-under.ts'

/** The served version that a candidate would replace. */
export interface ActiveVersion {
  readonly versionId: string
  readonly projection: Projection
  readonly facets: Facets
  readonly profile: ProfileParameters
  readonly embedder: Embedder
}

/**
 * Compares the candidate's ranking with that of the active version on the same questions. Returns null where there is
 * no active version that the search nodes can serve.
 * @param limit number of passages that the candidate was asked for; recall@100 and the set of candidates depend on it.
 */
export async function compareWithActive(
  active: ActiveVersion | undefined,
  questions: readonly QueryWithQrels[],
  candidate: readonly Outcome[],
  limit: number,
  context: AskContext,
): Promise<EvaluationReport['comparison']> {
  if (active === undefined) return null
  const { loaded } = await prepareOnLiveNodes(context.nodes, active.projection, context.signal)
  if (loaded.length === 0) return null
  const { facets, profile, embedder, projection } = active
  const before = await rankingUnder(profile, questions, limit, {
    ...context,
    facets,
    embedder,
    nodes: loaded,
    projectionId: projection.projectionId,
  })
  const after = new Map(
    questions.flatMap(({ id }, at) =>
      candidate[at]?.figures === undefined ? [] : [[id, candidate[at].figures] as const],
    ),
  )
  const comparison = compareRankings(after, before)
  return comparison === undefined
    ? null
    : { version_id: active.versionId, ...comparison, worse_on: [...comparison.worse_on] }
}
