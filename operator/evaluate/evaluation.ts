import { basename, resolve } from 'node:path'
import { digestFile } from '#core/platform/hashed-file.ts'
import { embeddingOf } from '#core/embedding/embedder.ts'
import { verifiedPassagesIn } from '#core/index/passages/records.ts'
import { SEARCH_BOUNDS } from '#core/domain/bounds.ts'
import { utcDay } from '#core/platform/time.ts'
import { defaultProfile } from '#jobs/version-build/parameters.ts'
import { servedOf } from '#jobs/evaluation/ask.ts'
import type { AskContext, AskRecordsContext } from '#jobs/evaluation/ask.ts'
import { decisionOf } from '#jobs/evaluation/decision.ts'
import { filteredRecallOf } from '#jobs/evaluation/filtered-questions.ts'
import { sampleKnownItems } from '#jobs/evaluation/known-items.ts'
import type { QueryWithQrels } from '#jobs/evaluation/query-with-qrels.ts'
import { askQuestions, timeModes } from '#jobs/evaluation/outcomes.ts'
import type { EvaluationReport, ReaderFigures } from '#jobs/evaluation/page/evaluation-report.ts'
import { reportOf } from '#jobs/evaluation/report.ts'
import { ReaderError } from '#core/reading/reader.ts'
import { measureReader } from '#jobs/evaluation/reading.ts'
import { openFlaggedEmbedder, vectorSettingsOf } from '#operator/command-line/embedding-flags.ts'
import type { EvaluateFlags } from './flags.ts'
import { evaluationMapping, limitSubjects, offsetFields } from './data-set-mapping.ts'
import type { EvaluationOutput } from './program.ts'
import { openFlaggedReader, readerFailed } from './reader.ts'
import type { FlaggedReader } from './reader.ts'
import { renderTable } from './table.ts'
import { fittedProfile, readFitTask } from './fit.ts'
import { readTask } from './task.ts'
import type { TaskQuestion } from './task.ts'
import { findTaskFiles } from './text-lines.ts'
import { withTemporaryVersion } from './temporary-version.ts'
import type { TemporaryVersion } from './temporary-version.ts'

/** Records for recall@100, plus one that may have the question's own id. */
const RECORDS_WANTED = 101

export interface Evaluated {
  readonly report: EvaluationReport
  /** The figures for a terminal. */
  readonly table: string
}

/**
 * Evaluates a data set from its files: read → build → load → ask → time → judge. It uses the production build and a
 * real search node over gRPC. The version is removed afterwards.
 * @throws OperatorError for each fault of the data set.
 */
export async function evaluateDataSet(
  flags: EvaluateFlags,
  output: EvaluationOutput,
  signal: AbortSignal,
): Promise<Evaluated> {
  const files = await findTaskFiles(flags)
  output.progress('questions', 0, 0)
  const task = await readTask(files, flags.limitTo, signal)
  for (const note of task.notes) output.note(note)
  const fitTask = await readFitTask(flags, files, task, signal)
  const subjectOf =
    flags.limitTo === undefined ? new Map<string, string>() : await limitSubjects(files.corpus, flags.limitTo, signal)
  const limit = flags.limitTo === undefined ? undefined : { field: flags.limitTo, subjectOf }
  const version = {
    corpus: files.corpus,
    mapping: evaluationMapping({
      limit,
      dated: task.questions.some(({ asOf }) => asOf !== undefined),
      known: await offsetFields(files.corpus, signal),
    }),
    embedder: await openFlaggedEmbedder(flags, signal, output.note.bind(output)),
    vectors: vectorSettingsOf(flags),
    searchQuestions: flags.searchQuestions,
    note: output.note.bind(output),
    relevant: new Set(task.questions.flatMap(({ qrels }) => relevantIn(qrels))),
    dataDir: flags.dataDir,
    signal,
    onProgress: output.progress.bind(output),
  }
  const reader = await openFlaggedReader(flags, task.questions, signal)
  return await withTemporaryVersion(version, async (built) => {
    reportCorpus(built, version.relevant.size, version.note)
    const { embedder } = version
    const asked = {
      questions: confined(task.questions, subjectOf),
      fitQuestions: confined(fitTask?.questions ?? [], subjectOf),
      questionSet: (await digestFile(files.queries)).sha256,
    }
    return await askBuilt(flags, asked, built, { embedder, reader, output, signal })
  })
}

function relevantIn(qrels: TaskQuestion['qrels']): readonly string[] {
  return [...qrels].filter(([, score]) => score > 0).map(([record]) => record)
}

/** Confines each question to its value; a value that no record has leaves no passages. */
function confined(
  questions: readonly TaskQuestion[],
  subjectOf: ReadonlyMap<string, string>,
): readonly QueryWithQrels[] {
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

/** Notes irregularities of the corpus. */
export function reportCorpus(
  { report, missing }: Pick<TemporaryVersion, 'report' | 'missing'>,
  relevant: number,
  note: EvaluationOutput['note'],
): void {
  const [first] = report.entries
  const reasons = Object.entries(report.reasons).map(([reason, count]) => `${count} ${reason}`)
  if (first !== undefined)
    note(
      `records of corpus.jsonl skipped: ${report.skipped} (${reasons.slice(0, 5).join('; ')}; the ` +
        `first in line ${first.line})`,
    )
  if (report.split > 0) note(`records cut into several passages, each judged once at its best place: ${report.split}`)
  if (missing.length > 0)
    note(`relevant records that the corpus does not hold, counted as not found: ${missing.length} of ${relevant}`)
}

interface Asked {
  readonly questions: readonly QueryWithQrels[]
  /** Questions to which the ranking is fitted. If empty, the ranking stays the default. */
  readonly fitQuestions: readonly QueryWithQrels[]
  /** SHA-256 (hex) of the questions' file. */
  readonly questionSet: string
}

interface AskingTools {
  readonly embedder: AskContext['embedder']
  readonly reader: FlaggedReader | undefined
  readonly output: EvaluationOutput
  readonly signal: AbortSignal
}

async function askBuilt(
  flags: EvaluateFlags,
  asked: Asked,
  version: TemporaryVersion,
  { embedder, reader, output, signal }: AskingTools,
): Promise<Evaluated> {
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
  return { report, table: renderTable(report, artifact.manifest.documents, ranked) }
}

async function readWith(
  reader: FlaggedReader,
  questions: readonly QueryWithQrels[],
  context: AskContext,
  { targetRisk }: EvaluateFlags,
  output: EvaluationOutput,
): Promise<ReaderFigures> {
  const measuring = { ...context, targetRisk, note: output.note.bind(output) }
  try {
    return (await measureReader(questions, reader, reader.parameters, measuring)).figures
  } catch (error) {
    throw error instanceof ReaderError ? readerFailed(error) : error
  }
}
