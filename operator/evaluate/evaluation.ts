import { basename, resolve } from 'node:path'
import { digestFile } from '#core/platform/hashed-file.ts'
import { embeddingOf } from '#core/embedding/embedder.ts'
import { verifiedPassagesIn } from '#core/index/passages/records.ts'
import { SEARCH_BOUNDS } from '#core/domain/bounds.ts'
import { defaultProfile } from '#jobs/version-build/parameters.ts'
import { servedOf } from '#jobs/evaluation/ask.ts'
import { sampleKnownItems } from '#jobs/evaluation/known-items.ts'
import type { QueryWithQrels } from '#jobs/evaluation/questions.ts'
import { fittedProfile, measureModels, measureQuestions } from '#jobs/evaluation/pipeline.ts'
import { reportSections } from '#jobs/evaluation/page/tables.ts'
import { reportOf } from '#jobs/evaluation/report.ts'
import type { DataSetFlags } from './flags.ts'
import { evaluationMapping, limitSubjects, offsetFields } from './data-set-mapping.ts'
import { openTools, type EvaluationOutput, type EvaluationTools } from './tools.ts'
import { readTask, type Task, type TaskQuestion } from './task.ts'
import { findTaskFiles, firstReadable, type TaskFiles } from './text-lines.ts'
import { withTemporaryVersion, type TemporaryVersion } from './temporary-version.ts'
import { words } from '#core/index/analysis/words.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { flaggedEmbedding } from '#operator/command-line/embedding-flags.ts'
import { EVALUATION_BOUNDS } from '#jobs/evaluation/bounds.ts'

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
  { embedder, rewriter, reader, output }: EvaluationTools,
) {
  const { artifact, report: imported, missing } = version
  const telling = (stage: string) => (done: number, total: number) => output.progress(stage, done, total)
  const pinned = { embedding: embeddingOf(embedder), rewriter: rewriter?.pinned }
  const unfitted = defaultProfile(pinned, artifact.manifest.description)
  const ofReader = { reader: reader?.parameters ?? null }
  const asking = { ...version.asking, profile: { ...unfitted, ...ofReader }, onProgress: telling('ask') }
  const passages = (): ReturnType<typeof verifiedPassagesIn> =>
    verifiedPassagesIn(artifact.folder, artifact.manifest.files['passages.jsonl'])
  const { questions, fitQuestions } = asked
  const items = await sampleKnownItems(passages, asking.day)
  const profile = await fittedProfile(null, fitQuestions, items, { ...asking, onProgress: telling('fit') })
  if (fitQuestions.length > 0)
    output.note(`ranking fitted to ${fitQuestions.length} questions: vectors weigh ${profile.dense_weight}`)
  const context = { ...asking, profile }
  const { targetRisk } = flags
  const limit = imported.split === 0 ? RECORDS_WANTED : SEARCH_BOUNDS.searchLimitMax
  const measuring = { artifact: { ...artifact.manifest, folder: artifact.folder }, targetRisk, embedder, limit }
  const { fitting, ...measured } = await measureQuestions({ ...measuring, questions, items }, context, telling)
  const models = { rewriter, reader, note: output.note }
  const assisted = { ...context, onProgress: telling('models') }
  const { rewritten, read } = await measureModels(models, questions, fitting, items, assisted)
  const report = reportOf({
    ...measured,
    kind: 'data set',
    dataset: basename(resolve(flags.folder)),
    versionId: null,
    questionSet: asked.questionSet,
    comparison: null,
    changeGates: [],
    missing,
    rewriter: rewritten?.figures,
    reader: read?.figures,
  })
  const ranked = servedOf(measured.outcomes).filter(({ figures }) => figures !== undefined).length
  const perQuestion = Object.fromEntries(
    questions.flatMap(({ id }, at) => {
      const figures = servedOf(measured.outcomes)[at]?.figures
      return figures === undefined ? [] : [[id, figures] as const]
    }),
  )
  const title =
    `${report.dataset}: ${report.passages} passages of ${artifact.manifest.documents} documents; ${report.queries} ` +
    `questions asked, ${ranked} of them judged for ranking`
  return { report, perQuestion, sections: [{ title }, ...reportSections(report)] }
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
