import { readNgramsDescription } from '#core/index/ngrams/reader.ts'
import type { Manifest } from '#core/index/format/manifest.ts'
import type { ArtifactStore } from '#core/index/format/store.ts'
import { SEARCH_BOUNDS } from '#core/domain/bounds.ts'
import { embeddingOf } from '#core/embedding/embedder.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { decides, type ProfileParameters, type ReaderParameters } from '#core/domain/retrieval-profile.ts'
import type { VersionRef } from '#core/domain/search.ts'
import { NoSearchNodeError, prepareOnLiveNodes } from '#jobs/platform/search-nodes.ts'
import type { Rewriter } from '#core/rewriting/rewriter.ts'
import { unlessDamaged } from './altered-candidate.ts'
import { embedOnce, servedOf, type AskRecordsContext } from './ask.ts'
import { decisionOf } from './decision.ts'
import type { DecisionOptions } from './figures.ts'
import { filteredRecallOf } from './filtered-questions.ts'
import { fitRanking, withoutOrder } from './fusion.ts'
import { sampleKnownItems, withoutKnownItems } from './known-items.ts'
import { askQuestions, timeModes } from './outcomes.ts'
import { verifiedPassagesIn } from '#core/index/passages/records.ts'
import { searchQuestionFigures } from './search-questions.ts'
import { standardisedByNegatives } from './negatives.ts'
import { readQuestionSet, idsInWords, type QueryWithQrels } from './questions.ts'
import { measureReader, measureRewriter } from './reading.ts'
import type { Measured } from './report.ts'
import type { NoteSourceIds } from './source-ids.ts'

/** The reader and the rewriter are those of the profile. Their order and decision are measured where they are given. */
export interface EvaluationInput extends VersionRef, AskRecordsContext {
  readonly knowledgeBase: string
  readonly artifact: Pick<Manifest, 'passages' | 'embedding' | 'files'> & {
    readonly folder: string
  }
  readonly noteSourceIds: NoteSourceIds
  readonly targetRisk: number
  /** SHA-256 (hex) of a question set in the store; undefined: known items. */
  readonly questionsSha256: string | undefined
  readonly store: ArtifactStore
  readonly rewriter?: Rewriter | undefined
  /** Is told what the evaluation is going to cost. */
  readonly note?: (sentence: string) => void
}

export type Evaluation = Awaited<ReturnType<typeof evaluate>>

/** Number of passages per question; enough for recall@100. */
export const EVALUATION_DEPTH = SEARCH_BOUNDS.searchLimitMax

/**
 * Loads the candidate on the search nodes and asks it as a caller would: real search, real vectors, mandatory filters.
 * The order is: fit the ranking → ask → fit the decision → time → recall under filters. The artifact's integrity is
 * verified before, and each node verifies it again on loading.
 * @returns `profile`: with the fitted fusion and decision; `context`: how the candidate was asked.
 * @throws OperatorError when the question set is wrong; NoSearchNodeError when no search node can be asked.
 */
export async function evaluate(input: EvaluationInput) {
  const [prepared, { questions, missing, items }] = await Promise.all([
    prepareOnLiveNodes(input.nodes, input, input.signal),
    unlessDamaged('after', input.versionId, () => chooseQuestions(input)),
  ])
  if (prepared.loaded.length === 0) throw new NoSearchNodeError('the candidate', prepared.failed)
  const asking: AskRecordsContext = {
    ...input,
    profile: { ...input.profile, reader: withoutOrder(input.profile.reader) },
    embedder: input.embedder && embedOnce(input.embedder),
    nodes: prepared.loaded,
  }
  const fitted = input.questionsSha256 === undefined ? [] : questions
  const profile = await fittedProfile(input.profile.reader, fitted, items, asking)
  const context = { ...asking, profile }
  const { rewritten, read, ...figures } = await unlessDamaged('after', input.versionId, async () => {
    const { folder, files } = input.artifact
    const passages = (): ReturnType<typeof verifiedPassagesIn> => verifiedPassagesIn(folder, files['passages.jsonl'])
    const asked = await measureQuestions({ ...input, questions, items, passages, limit: EVALUATION_DEPTH }, context)
    return { ...asked, ...(await measureModels(input, questions, asked.fitting, items, context)) }
  })
  const measured: Measured = {
    ...figures,
    kind: input.questionsSha256 === undefined ? 'known items' : 'question set',
    dataset: input.knowledgeBase,
    versionId: input.versionId,
    questionSet: input.questionsSha256 ?? null,
    missing,
    rewriter: rewritten?.figures,
    reader: read?.figures,
    backgroundQuestions: readNgramsDescription(input.artifact.folder).chance.questions,
    searchQuestions: await unlessDamaged('after', input.versionId, () =>
      searchQuestionFigures(input.artifact, context),
    ),
  }
  const reader = read?.parameters ?? profile.reader
  const rewriter = rewritten?.parameters ?? profile.rewriter
  const { calibration } = figures.decision
  return { measured, profile: { ...profile, rewriter, reader, calibration }, context }
}

/**
 * Returns the profile that is fitted to the questions; without questions, that of the context. Its default decision is
 * the version's own.
 * @param reader to try; null: none. @param items texts of passages of the version.
 */
export async function fittedProfile(
  reader: ReaderParameters | null,
  questions: readonly QueryWithQrels[],
  items: readonly { readonly text: string }[],
  context: AskRecordsContext,
): Promise<ProfileParameters> {
  const profile = await standardisedByNegatives(items, context)
  return questions.length === 0 ? profile : await fitRanking(reader, questions, { ...context, profile })
}

interface MeasuredQuestions extends Pick<EvaluationInput, 'artifact' | 'targetRisk' | 'embedder'> {
  readonly questions: readonly QueryWithQrels[]
  readonly items: readonly { readonly text: string }[]
  readonly limit: number
  /** Of a version that keeps the fitted decision (`DecisionOptions`). */
  readonly passages?: DecisionOptions['passages']
}

/**
 * Asks the questions → fits the decision → times → measures recall under filters.
 * @param context with the fitted profile.
 * @param told replaces the progress of the context by that of a stage.
 */
export async function measureQuestions(
  { artifact, targetRisk, embedder, questions, items, limit, passages }: MeasuredQuestions,
  context: AskRecordsContext,
  told: (stage: 'time' | 'filters') => AskRecordsContext['onProgress'] = () => context.onProgress,
) {
  const outcomes = await askQuestions(questions, limit, context)
  const searchQuestions = artifact.files['search-questions.jsonl'] !== undefined
  const options = { targetRisk, embedding: embeddingOf(embedder), searchQuestions }
  const fitting = { ...options, ...(passages && { passages }) }
  return {
    questions,
    passages: artifact.passages,
    profile: context.profile,
    outcomes,
    fitting,
    decision: await decisionOf(questions, servedOf(outcomes), fitting, items, context),
    // A caller's question is not embedded yet.
    latency: await timeModes(questions, { ...context, embedder, onProgress: told('time') }),
    filtered: await filteredRecallOf(artifact, questions, { ...context, onProgress: told('filters') }),
  }
}

/** Asks the rewriter and the reader of the profile, where there are such. */
export async function measureModels(
  { rewriter, reader, note = () => undefined }: Pick<EvaluationInput, 'rewriter' | 'reader' | 'note'>,
  questions: readonly QueryWithQrels[],
  fitting: DecisionOptions,
  items: readonly QueryWithQrels[],
  context: AskRecordsContext,
) {
  const { rewriter: writing, reader: reading } = context.profile
  const asking = { ...context, targetRisk: fitting.targetRisk, note }
  return {
    rewritten: rewriter && writing && (await measureRewriter(questions, rewriter, writing, fitting, items, asking)),
    read: reader && reading && decides(reading) ? await measureReader(questions, reader, reading, asking) : undefined,
  }
}

async function chooseQuestions({ questionsSha256, artifact, noteSourceIds, store, day }: EvaluationInput) {
  const passages = (): ReturnType<NoteSourceIds> =>
    noteSourceIds(verifiedPassagesIn(artifact.folder, artifact.files['passages.jsonl']))
  const items = await sampleKnownItems(passages, day)
  if (questionsSha256 === undefined) {
    if (items.length === 0)
      throw new OperatorError(
        `The candidate cannot be evaluated on its own passages, because ${await withoutKnownItems(passages(), day)}. ` +
          'Correct that in the sources, or build with a question set.',
      )
    return { questions: items, missing: [], items }
  }
  const questions = await readQuestionSet(store, questionsSha256)
  const missing = new Set(questions.flatMap(({ qrels }) => [...qrels.keys()]))
  for await (const { source_id: source } of passages()) missing.delete(source)
  refuseUnanswerable(questions, missing)
  return { questions, missing: [...missing].sort(), items }
}

/**
 * A question that counts as answerable although the version holds nothing of what it names would lower the threshold or
 * raise it without any evidence.
 * @throws OperatorError
 */
function refuseUnanswerable(questions: readonly QueryWithQrels[], missing: ReadonlySet<string>): void {
  const without = questions.filter(
    ({ answerable, qrels }) => answerable === true && [...qrels.keys()].every((source) => missing.has(source)),
  )
  if (without.length === 0) return
  throw new OperatorError(
    `The version holds no relevant passage of ${idsInWords(without)}. Name passages that it holds in "relevant", by ` +
      'the ids that the page of a version shows, or none where the corpus has no answer, and build again.',
  )
}
