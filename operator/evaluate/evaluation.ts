import { basename, resolve } from 'node:path'
import { digestFile } from '#core/platform/hashed-file.ts'
import { embeddingOf } from '#core/embedding/embedder.ts'
import { verifiedPassagesIn } from '#core/index/passages/records.ts'
import { SEARCH_BOUNDS } from '#core/domain/bounds.ts'
import { utcDay } from '#core/platform/time.ts'
import { defaultProfile } from '#jobs/version-build/parameters.ts'
import { servedOf, type AskContext, type AskRecordsContext } from '#jobs/evaluation/ask.ts'
import { decisionOf } from '#jobs/evaluation/decision.ts'
import { filteredRecallOf } from '#jobs/evaluation/filtered-questions.ts'
import { sampleKnownItems } from '#jobs/evaluation/known-items.ts'
import type { QueryWithQrels } from '#jobs/evaluation/questions.ts'
import { askQuestions, timeModes } from '#jobs/evaluation/outcomes.ts'
import type { ReaderFigures } from '#jobs/evaluation/page/evaluation-report.ts'
import { reportOf } from '#jobs/evaluation/report.ts'
import { ReaderError } from '#core/reading/reader.ts'
import { measureReader } from '#jobs/evaluation/reading.ts'
import type { DataSetFlags } from './flags.ts'
import { evaluationMapping, limitSubjects, offsetFields } from './data-set-mapping.ts'
import { readerFailed, type FlaggedReader } from './reader.ts'
import { openTools, type EvaluationOutput, type EvaluationTools } from './tools.ts'
import { dataSetSections } from './table.ts'
import { readTask, type Task, type TaskQuestion } from './task.ts'
import { findTaskFiles, firstReadable, type TaskFiles } from './text-lines.ts'
import { withTemporaryVersion, type TemporaryVersion } from './temporary-version.ts'
import { words } from '#core/index/analysis/words.ts'
import { OperatorError } from '#core/platform/errors.ts'
import type { ProfileParameters } from '#core/domain/retrieval-profile.ts'
import { flaggedEmbedding } from '#operator/command-line/embedding-flags.ts'
import { EVALUATION_BOUNDS } from '#jobs/evaluation/bounds.ts'
import { fitRanking } from '#jobs/evaluation/fusion.ts'
import { standardisedByNegatives } from '#jobs/evaluation/negatives.ts'

/** Records for recall@100, plus one that may have the question's own id. */
const RECORDS_WANTED = 101

/**
 * Evaluates a data set from its files: read → build → load → ask → time → judge. It uses the production build and a
 * real search node over gRPC. The version is removed afterwards.
 * @throws OperatorError for each fault of the data set.
 */
export async function evaluateDataSet(flags: DataSetFlags, output: EvaluationOutput, signal: AbortSignal) {
  const files = await findTaskFiles(flags)
  const { corpus, queries } = files
  output.progress('questions', 0, 0)
  const task = await readTask(files, flags.limitTo, signal)
  for (const note of task.notes) output.note(note)
  const fitTask = await readFitTask(flags, files, task, signal)
  const field = flags.limitTo
  const subjectOf = field === undefined ? new Map<string, string>() : await limitSubjects(corpus, field, signal)
  const mapping = evaluationMapping({
    limit: field === undefined ? undefined : { field, subjectOf },
    dated: task.questions.some(({ asOf }) => asOf !== undefined),
    known: await offsetFields(corpus, signal),
  })
  const tools = await openTools(flags, task.questions, output, signal)
  const judged = task.questions.flatMap(({ qrels }) => [...qrels])
  const relevant = new Set(judged.flatMap(([record, score]) => (score > 0 ? [record] : [])))
  const { searchQuestions } = flags
  const { progress: onProgress, note } = output
  const version = { corpus, mapping, searchQuestions, relevant, onProgress, note, ...tools }
  return await withTemporaryVersion(version, async (built) => {
    const asked = {
      questions: confined(task.questions, subjectOf),
      fitQuestions: confined(fitTask?.questions ?? [], subjectOf),
      questionSet: (await digestFile(queries)).sha256,
    }
    return await askBuilt(flags, asked, built, tools)
  })
}

/** Confines each question to its value; a value that no record has leaves no passages. */
function confined(questions: readonly TaskQuestion[], subjectOf: ReadonlyMap<string, string>) {
  return questions.map(({ id, text, qrels, answerable, limitedTo, asOf }) => ({
    id,
    text,
    qrels,
    answerable,
    group: limitedTo,
    quoted: false,
    filters: {
      ...(limitedTo === undefined ? {} : { subject: [subjectOf.get(limitedTo) ?? 'no group'] }),
      ...(asOf === undefined ? {} : { in_force_on: asOf }),
    },
  }))
}

interface Asked {
  readonly questions: readonly QueryWithQrels[]
  /** Questions to which the ranking is fitted. If empty, the ranking stays the default. */
  readonly fitQuestions: readonly QueryWithQrels[]
  /** SHA-256 (hex) of the questions' file. */
  readonly questionSet: string
}

async function askBuilt(
  flags: DataSetFlags,
  asked: Asked,
  version: TemporaryVersion,
  { embedder, reader, output, signal }: EvaluationTools,
) {
  const { artifact, facets, sourceIdOf, node, report: imported, missing } = version
  const telling = (stage: string) => (done: number, total: number) => output.progress(stage, done, total)
  const asking: AskRecordsContext = {
    versionId: artifact.versionId,
    facets,
    sourceIdOf,
    profile: defaultProfile({ embedding: embeddingOf(embedder) }),
    embedder,
    nodes: [node.client],
    day: utcDay(new Date()),
    signal: AbortSignal.any([signal, node.ended]),
    onProgress: telling('ask'),
  }
  const passages = (): ReturnType<typeof verifiedPassagesIn> =>
    verifiedPassagesIn(artifact.folder, artifact.manifest.files['passages.jsonl'])
  const items = await sampleKnownItems(passages, asking.day)
  const profile = await fittedProfile(asked.fitQuestions, items, { ...asking, onProgress: telling('fit') }, output)
  const context = { ...asking, profile }
  const outcomes = await askQuestions(
    asked.questions,
    imported.split === 0 ? RECORDS_WANTED : SEARCH_BOUNDS.searchLimitMax,
    context,
  )
  const fitting = {
    targetRisk: flags.targetRisk,
    embedding: embeddingOf(embedder),
    searchQuestions: flags.searchQuestions !== undefined,
  }
  const report = reportOf({
    kind: 'data set',
    dataset: basename(resolve(flags.folder)),
    versionId: null,
    questionSet: asked.questionSet,
    passages: artifact.manifest.passages,
    questions: asked.questions,
    outcomes,
    profile,
    decision: await decisionOf(asked.questions, servedOf(outcomes), fitting, items, context),
    latency: await timeModes(asked.questions, { ...context, onProgress: telling('time') }),
    filtered: await filteredRecallOf({ ...artifact.manifest, folder: artifact.folder }, asked.questions, {
      ...context,
      onProgress: telling('filters'),
    }),
    comparison: null,
    changeGates: [],
    missing,
    reader:
      reader && (await readWith(reader, asked.questions, { ...context, onProgress: telling('read') }, flags, output)),
  })
  const ranked = servedOf(outcomes).filter(({ figures }) => figures !== undefined).length
  return { report, sections: dataSetSections(report, artifact.manifest.documents, ranked) }
}

async function readWith(
  reader: FlaggedReader,
  questions: readonly QueryWithQrels[],
  context: AskContext,
  { targetRisk }: DataSetFlags,
  output: EvaluationOutput,
): Promise<ReaderFigures> {
  const measuring = { ...context, targetRisk, note: output.note }
  try {
    return (await measureReader(questions, reader, reader.parameters, measuring)).figures
  } catch (error) {
    throw error instanceof ReaderError ? readerFailed(error) : error
  }
}

/**
 * Reads the questions to which the ranking is fitted.
 * @param asked the questions that are measured. @returns undefined where no others are named.
 * @throws OperatorError for a version without vectors, for a question that is asked too, because its figures would
 * flatter, and for too few questions or judgments of none.
 */
async function readFitTask(
  { fitQueries, fitQrels, limitTo, ...flags }: DataSetFlags,
  files: TaskFiles,
  asked: Task,
  signal: AbortSignal,
): Promise<Task | undefined> {
  if (fitQueries === undefined && fitQrels !== undefined)
    throw new OperatorError('--fit-qrels judges the questions of --fit-queries: name both, or neither.')
  if (fitQueries === undefined) return undefined
  if (flaggedEmbedding(flags) === 'none')
    throw new OperatorError(
      '--fit-queries fits the weight of the vectors, and words alone rank here: name a model, or leave it out.',
    )
  const queries = await firstReadable([fitQueries], 'name the file of questions with --fit-queries')
  const qrels = await firstReadable([fitQrels ?? files.qrels], 'name the judgments with --fit-qrels')
  const task = await readTask({ ...files, queries, qrels, answerability: undefined }, limitTo, signal)
  const known = new Set(asked.questions.flatMap(identitiesOf))
  const both = task.questions.filter((question) => identitiesOf(question).some((own) => known.has(own))).length
  if (both > 0)
    throw new OperatorError(
      `${both} questions of ${basename(queries)} are asked too, so their figures would flatter: name others with ` +
        '--fit-queries.',
    )
  if (task.questions.length < EVALUATION_BOUNDS.comparedQuestionsMin)
    throw new OperatorError(
      `${basename(queries)} has ${task.questions.length} judged questions, and a ranking is fitted to at least ` +
        `${EVALUATION_BOUNDS.comparedQuestionsMin}: name more with --fit-queries.`,
    )
  return task
}

/** Two questions are the same by their id, and by their words within the same group. */
function identitiesOf({ id, text, limitedTo }: TaskQuestion): readonly string[] {
  return [JSON.stringify([id]), JSON.stringify([limitedTo ?? '', words(text)])]
}

/**
 * Returns the profile that a build would fit to the questions, without a reader; without questions, that of the
 * context, with the version's own default decision.
 */
async function fittedProfile(
  questions: readonly QueryWithQrels[],
  items: readonly { readonly text: string }[],
  context: AskRecordsContext,
  output: EvaluationOutput,
): Promise<ProfileParameters> {
  const unfitted = await standardisedByNegatives(items, context)
  if (questions.length === 0) return unfitted
  const profile = await fitRanking(null, questions, { ...context, profile: unfitted })
  output.note(`ranking fitted to ${questions.length} questions: vectors weigh ${profile.dense_weight}`)
  return profile
}
