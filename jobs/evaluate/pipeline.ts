import { ArtifactError } from '#core/index/artifact-error.ts'
import type { Facets } from '#core/index/facets/layout.ts'
import type { Manifest } from '#core/index/format/manifest.ts'
import type { CellsDescription } from '#core/index/vectors/cells.ts'
import type { ArtifactStore } from '#core/index/format/store.ts'
import { BOUNDS } from '#core/platform/bounds.ts'
import type { Embedder } from '#core/embedding/embedder.ts'
import { OperatorError } from '#core/platform/errors.ts'
import type { ProfileParameters } from '#core/domain/retrieval-profile.ts'
import type { WordWeights } from '#core/domain/word-weights.ts'
import type { Reranker } from '#core/reranking/reranker.ts'
import type { SearchNodeClient } from '#core/rpc/search-client.ts'
import { NoSearchNodeError, prepareOnLiveNodes } from '#jobs/search-nodes.ts'
import type { Projection } from '#jobs/search-nodes.ts'
import type { NamedChange } from '#jobs/compare/changes-file.ts'
import { damagedArtifact } from '#jobs/compare/damaged.ts'
import { compareWithActive } from '#jobs/compare/pipeline.ts'
import type { ComparedCandidate, ComparisonSettings } from '#jobs/compare/pipeline.ts'
import type { AskContext } from './ask.ts'
import { decisionOf } from './figures.ts'
import type { Decision } from './figures.ts'
import { filteredRecallOf } from './filtered-questions.ts'
import { fitRanking } from './fit-ranking.ts'
import type { QueryWithQrels } from './query-with-qrels.ts'
import { sampleKnownItems } from './known-items.ts'
import { askQuestions, figuresById, timeSystems } from './outcomes.ts'
import type { EvaluationReport } from './page/evaluation-report.ts'
import { verifiedPassagesIn } from '#core/index/passages/records.ts'
import { readQuestionSet } from './question-set.ts'
import { selfCalibrate } from './self-calibration/calibrate.ts'
import { reportOf } from './report.ts'
import type { ReportInput } from './report.ts'

export interface EvaluationInput {
  readonly versionId: string
  readonly knowledgeBase: string
  readonly projection: Projection
  /** As its signed manifest describes it. */
  readonly artifact: Pick<Manifest, 'passages' | 'embedding' | 'files'> & {
    readonly folder: string
    readonly cells: CellsDescription | undefined
  }
  readonly facets: Facets
  readonly profile: ProfileParameters
  readonly targetRisk: number
  /** SHA-256 (hex) of a question set in the store; undefined: known items. */
  readonly questionsSha256: string | undefined
  readonly comparison: ComparisonSettings
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

export interface Evaluation {
  readonly report: EvaluationReport
  /** The profile with the fitted fusion and decision. */
  readonly profile: ProfileParameters & { readonly calibration: Decision['calibration'] }
  /** What the question set taught; null: nothing. */
  readonly wordWeights: WordWeights | null
  /** Changes against the active version that the page shows; none if no version is active. */
  readonly changes: readonly NamedChange[]
}

/** Number of passages per question; enough for recall@100. */
const DEPTH = BOUNDS.searchLimitMax

/**
 * Loads the candidate on the search nodes and asks it as a caller would: real search, real vectors, mandatory filters.
 * The order is: fit the ranking → ask → fit the decision → time → recall under filters → compare with the active
 * version → judge. No question is measured by weights of words that were learned from it. The artifact's integrity is
 * verified before, and each node verifies it again on loading.
 * @throws OperatorError when the question set is wrong; NoSearchNodeError when no search node can be asked.
 */
export async function evaluate(input: EvaluationInput): Promise<Evaluation> {
  const prepared = await prepareOnLiveNodes(input.nodes, input.projection, input.signal)
  if (prepared.loaded.length === 0) throw new NoSearchNodeError('the candidate', prepared.failed)
  const { questions, missing } = await unlessDamaged(input, () => chooseQuestions(input))
  const asking: AskContext = { ...input, projectionId: input.projection.projectionId, nodes: prepared.loaded }
  const { profile, wordWeights } =
    input.questionsSha256 === undefined
      ? { profile: input.profile, wordWeights: undefined }
      : await fitRanking(input.rerankerToTry, questions, asking)
  const weights = wordWeights?.weights ?? null
  const context = { ...asking, profile, wordWeightsOf: () => weights }
  const outcomes = await askQuestions(questions, DEPTH, { ...context, wordWeightsOf: wordWeights?.heldOut })
  const { provider } = input.embedder.space
  const decision = await decisionOf(questions, outcomes.hybrid, { targetRisk: input.targetRisk, provider }, () =>
    unlessDamaged(input, () => selfCalibrate(passagesOf(input.artifact), context)),
  )
  const measured = {
    kind: input.questionsSha256 === undefined ? 'known items' : 'question set',
    dataset: input.knowledgeBase,
    versionId: input.versionId,
    questionSet: input.questionsSha256 ?? null,
    passages: input.artifact.passages,
    questions,
    outcomes,
    profile,
    wordWeights: weights,
    decision,
    latency: await timeSystems(questions, context),
    filtered: await filteredRecallOf(input.artifact, questions, context),
    cells: input.artifact.cells,
    missing,
  } as const
  const compared = await compareWithActive(comparedCandidate(input, measured, context), input.comparison, input.store)
  const report = reportOf({
    ...measured,
    comparison: compared?.comparison ?? null,
    changeGates: compared?.changeGates ?? [],
  })
  return {
    report,
    profile: { ...profile, calibration: decision.calibration },
    wordWeights: weights,
    changes: compared?.shown ?? [],
  }
}

function comparedCandidate(
  { versionId, projection, artifact, facets, questionsSha256 }: EvaluationInput,
  { questions, outcomes }: Pick<ReportInput, 'questions' | 'outcomes'>,
  context: AskContext,
): ComparedCandidate {
  return {
    versionId,
    contents: {
      projectionId: projection.projectionId,
      folder: artifact.folder,
      passages: artifact.passages,
      file: artifact.files['passages.jsonl'],
      facets,
    },
    questionSet:
      questionsSha256 === undefined
        ? undefined
        : { sha256: questionsSha256, questions, figures: figuresById(questions, outcomes.hybrid) },
    limit: DEPTH,
    context,
  }
}

interface AskedQuestions {
  readonly questions: readonly QueryWithQrels[]
  /** Relevant ids that no passage carries, sorted. */
  readonly missing: readonly string[]
}

/** Reads the artifact's passages. A file that was changed after its verification fails the build with a sentence. */
async function unlessDamaged<T>({ projection }: EvaluationInput, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    throw error instanceof ArtifactError ? damagedArtifact('after', projection.projectionId, error) : error
  }
}

function passagesOf({ folder, files }: EvaluationInput['artifact']): ReturnType<typeof verifiedPassagesIn> {
  return verifiedPassagesIn(folder, files['passages.jsonl'])
}

async function chooseQuestions({ questionsSha256, artifact, store, day }: EvaluationInput): Promise<AskedQuestions> {
  const passages = (): ReturnType<typeof verifiedPassagesIn> => passagesOf(artifact)
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
