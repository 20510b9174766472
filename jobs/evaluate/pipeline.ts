import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Facets } from '#core/index/facets/layout.ts'
import { sha256 } from '#core/platform/digest.ts'
import type { EmbeddingSpace } from '#core/index/format/manifest.ts'
import type { ArtifactStore } from '#core/index/format/store.ts'
import { BOUNDS } from '#core/platform/bounds.ts'
import type { Embedder } from '#core/embedding/embedder.ts'
import { OperatorError } from '#core/platform/errors.ts'
import type { ProfileParameters } from '#core/domain/retrieval-profile.ts'
import type { Reranker } from '#core/reranking/reranker.ts'
import type { SearchNodeClient } from '#core/rpc/search-client.ts'
import { prepareOnLiveNodes } from '#jobs/search-nodes.ts'
import type { Projection } from '#jobs/search-nodes.ts'
import type { AskContext } from './ask.ts'
import { compareWithActive } from './active.ts'
import type { ActiveVersion } from './active.ts'
import { decisionOf } from './figures.ts'
import type { Decision } from './figures.ts'
import { filteredRecallOf } from './filtered-questions.ts'
import { fitFusion, tryReranker } from './fusion.ts'
import { queryWithQrels } from './query-with-qrels.ts'
import type { QueryWithQrels } from './query-with-qrels.ts'
import { sampleKnownItems } from './known-items.ts'
import { askQuestions, timeSystems } from './outcomes.ts'
import type { EvaluationReport } from './page/evaluation-report.ts'
import { passagesIn } from '#core/index/passages/records.ts'
import { parseQuestions } from './questions.ts'
import { reportOf } from './report.ts'

export interface EvaluationInput {
  readonly versionId: string
  readonly knowledgeBase: string
  readonly projection: Projection
  readonly artifact: { readonly folder: string; readonly passages: number; readonly embedding: EmbeddingSpace }
  readonly facets: Facets
  readonly profile: ProfileParameters
  readonly targetRisk: number
  /** SHA-256 (hex) of a question set in the store; undefined: known items. */
  readonly questionsSha256: string | undefined
  /** The version that is served now; undefined: none. */
  readonly active: ActiveVersion | undefined
  readonly store: ArtifactStore
  readonly embedder: Embedder
  readonly reranker: Reranker | undefined
  /** Null: none. */
  readonly rerankerToTry: ProfileParameters['reranker']
  readonly nodes: readonly SearchNodeClient[]
  /** UTC day on which "in force" is evaluated. */
  readonly day: string
  readonly signal: AbortSignal
  readonly onProgress: (done: number, total: number) => void
}

export interface Evaluated {
  readonly report: EvaluationReport
  /** The profile with the fitted fusion and decision. */
  readonly profile: ProfileParameters & { readonly calibration: Decision['calibration'] }
}

/** Number of passages per question; enough for recall@100. */
const DEPTH = BOUNDS.searchLimitMax

/**
 * Loads the candidate on the search nodes and asks it as a caller would: real search, real vectors, mandatory filters.
 * The order is: fit the fusion → try a re-ranker → ask → fit the decision → time → recall under filters → compare with
 * the active version → judge. The artifact's integrity is verified before, and each node verifies it again on loading.
 * @throws OperatorError when the question set is wrong; NoSearchNodeError when no search node can be asked.
 */
export async function evaluate(input: EvaluationInput): Promise<Evaluated> {
  const prepared = await prepareOnLiveNodes(input.nodes, input.projection, input.signal)
  if (prepared.loaded.length === 0)
    throw new NoSearchNodeError(prepared.failed.map(({ address, reason }) => `${address} ${reason}`))
  const { questions, missing } = await questionsOf(input)
  const asking: AskContext = { ...input, projectionId: input.projection.projectionId, nodes: prepared.loaded }
  const profile =
    input.questionsSha256 === undefined ? input.profile : await fitRanking(input.rerankerToTry, questions, asking)
  const context = { ...asking, profile }
  const outcomes = await askQuestions(questions, DEPTH, context)
  const decision = decisionOf(questions, outcomes.hybrid, input.targetRisk)
  const report = reportOf({
    kind: input.questionsSha256 === undefined ? 'known items' : 'question set',
    dataset: input.knowledgeBase,
    versionId: input.versionId,
    questionSet: input.questionsSha256 ?? null,
    passages: input.artifact.passages,
    questions,
    outcomes,
    decision,
    latency: await timeSystems(questions, context),
    filteredRecall: await filteredRecallOf(input.artifact, questions, context),
    comparison:
      input.questionsSha256 === undefined
        ? null
        : await compareWithActive(input.active, questions, outcomes.hybrid, DEPTH, context),
    missing,
  })
  return { report, profile: { ...profile, calibration: decision.calibration } }
}

/** Fits the ranking to a question set. Known items are not fitted, since they are found by their own words. */
async function fitRanking(
  reranker: EvaluationInput['rerankerToTry'],
  questions: readonly QueryWithQrels[],
  context: AskContext,
): Promise<ProfileParameters> {
  const profile = await fitFusion(questions, context)
  return await tryReranker(reranker, questions, { ...context, profile })
}

/** Temporary failure, independent of the corpus: search nodes may return, so the build is retried. */
class NoSearchNodeError extends Error {
  override readonly name = 'NoSearchNodeError'
  constructor(reasons: readonly string[]) {
    super(
      'No search node could load the candidate ' +
        `(${reasons.length === 0 ? 'none of SEARCH_NODES answers' : reasons.join('; ')}): start or ` +
        'repair a search node, then build again.',
    )
  }
}

interface AskedQuestions {
  readonly questions: readonly QueryWithQrels[]
  /** Relevant ids that no passage carries, sorted. */
  readonly missing: readonly string[]
}

async function questionsOf({ questionsSha256, artifact, store, day }: EvaluationInput): Promise<AskedQuestions> {
  const passages = (): ReturnType<typeof passagesIn> => passagesIn(join(artifact.folder, 'passages.jsonl'))
  if (questionsSha256 === undefined) {
    const questions = await sampleKnownItems(passages, day)
    if (questions.length === 0)
      throw new OperatorError(
        'No passage is verified and in force today, so there is nothing to evaluate: check the dates ' +
          'and statuses of the import, or build with a question set.',
      )
    return { questions, missing: [] }
  }
  const questions = await readQuestionSet(store, questionsSha256)
  const missing = new Set(questions.flatMap(({ qrels }) => [...qrels.keys()]))
  for await (const { source_id: source } of passages()) missing.delete(source)
  return { questions, missing: [...missing].sort() }
}

async function readQuestionSet(store: ArtifactStore, sha256Hex: string): Promise<readonly QueryWithQrels[]> {
  const path = store.snapshotFile(sha256Hex)
  const size = await stat(path).then(
    (found) => found.size,
    () => undefined,
  )
  if (size === undefined)
    throw new OperatorError('The question set is not in the artifact store: import it again and build with it.')
  if (size > BOUNDS.evaluationQuestionsBytesMax)
    throw new OperatorError(
      `The question set is larger than ${BOUNDS.evaluationQuestionsBytesMax} bytes: take a sample and build again.`,
    )
  const bytes = await readFile(path)
  if (sha256(bytes).toString('hex') !== sha256Hex)
    throw new OperatorError(
      'The question set in the artifact store was changed after it was captured: import it again and build with it.',
    )
  return parseQuestions(bytes.toString('utf8')).map(queryWithQrels)
}
