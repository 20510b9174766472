import { basename, join, resolve } from 'node:path'
import { DEFAULT_TOP_K } from '#core/domain/quota-plan.ts'
import type { Calibration } from '#core/domain/calibration.ts'
import { DEFAULT_CHAT_READER_CALIBRATION } from '#core/domain/default-calibration.ts'
import { READER_PREDICTORS } from '#core/domain/predictors.ts'
import { READ_PASSAGES_MAX } from '#core/domain/retrieval-profile.ts'
import type { ProfileParameters, ReaderParameters } from '#core/domain/retrieval-profile.ts'
import type { SearchResult } from '#core/domain/search.ts'
import { NO_ENGINE } from '#core/engine/settings.ts'
import type { EngineSettings } from '#core/engine/settings.ts'
import type { Embedder } from '#core/embedding/embedder.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { ReaderError } from '#core/reading/reader.ts'
import { utcDay } from '#core/platform/time.ts'
import type { VectorSettings } from '#jobs/version-build/text-vectors.ts'
import { defaultProfile } from '#jobs/version-build/parameters.ts'
import { openFlaggedEmbedder, vectorSettingsOf } from '#operator/command-line/embedding-flags.ts'
import { fitCalibration } from '#jobs/evaluation/calibration/fit.ts'
import { reportCorpus } from '#operator/evaluate/evaluation.ts'
import { TARGET_RISK_DEFAULT } from '#operator/evaluate/flags.ts'
import type { EvaluationOutput } from '#operator/evaluate/program.ts'
import { openFlaggedReader, readerFailed } from '#operator/evaluate/reader.ts'
import type { FlaggedReader } from '#operator/evaluate/reader.ts'
import { withTemporaryVersion } from '#operator/evaluate/temporary-version.ts'
import type { TemporaryVersion } from '#operator/evaluate/temporary-version.ts'
import { firstReadable } from '#operator/evaluate/text-lines.ts'
import { askModes, mapModes, modesOf, servedOf } from '#jobs/evaluation/ask.ts'
import type { ByMode, RankingMode } from '#jobs/evaluation/ask.ts'
import { EVALUATION_BOUNDS } from '#jobs/evaluation/bounds.ts'
import { forEachConcurrently } from '#core/platform/for-each-concurrently.ts'
import type { EvaluationReport } from '#jobs/evaluation/page/evaluation-report.ts'
import { evaluate } from '#jobs/evaluation/pipeline.ts'
import type { Evaluation } from '#jobs/evaluation/pipeline.ts'
import { readerFeatures, tooFewLabels } from '#jobs/evaluation/reading.ts'
import { calibratedOn } from '#jobs/evaluation/report.ts'
import { corpusFolderAt } from '#law/import/corpus/corpus-folder.ts'
import { readMapping } from '#law/import/mapping/mapping.ts'
import type { NaturalFlags, NaturalSet } from './flags.ts'
import { firstRight, judge } from './judge.ts'
import type { NaturalOutcome } from './judge.ts'
import { readNaturalQuestions } from './questions.ts'
import type { NaturalQuestion } from './questions.ts'

export interface AskedCorpora {
  readonly corpora: readonly AskedCorpus[]
  /** Of all corpora, in the order of the questions. */
  readonly outcomes: readonly NaturalOutcome[]
}

export interface AskedCorpus {
  /** Name of the folder. */
  readonly corpus: string
  readonly passages: number
  readonly questions: number
  /** Relevant ids that the version does not hold. */
  readonly missing: number
  /** The decision of the version's profile. */
  readonly calibration: { readonly threshold: number } & Pick<EvaluationReport, 'calibrated_on'>
}

interface Tools {
  readonly embedder: Embedder | undefined
  readonly reader: FlaggedReader | undefined
  readonly vectors: VectorSettings
  readonly dataDir: string | undefined
  readonly engine: EngineSettings | undefined
  readonly output: EvaluationOutput
  readonly signal: AbortSignal
}

/**
 * Asks natural questions of corpora, one after the other: read → build → load → calibrate → ask → judge. Each version
 * is built, evaluated and decided on as one without a question set is by a job worker and a gateway.
 * @throws OperatorError for each fault of a corpus or its questions.
 */
export async function evaluateNatural(
  flags: NaturalFlags,
  output: EvaluationOutput,
  signal: AbortSignal,
): Promise<AskedCorpora> {
  const read: { readonly set: NaturalSet; readonly mapping: object; readonly questions: readonly NaturalQuestion[] }[] =
    []
  for (const set of flags.sets) {
    const questions = await readNaturalQuestions(set, flags.half, signal)
    read.push({ set, mapping: await mappingOf(set), questions })
  }
  const embedder = await openFlaggedEmbedder(flags, signal, output.note.bind(output))
  const reader = await openFlaggedReader(
    flags,
    read.flatMap(({ questions }) => questions.map(({ id, question: text }) => ({ id, text }))),
    signal,
  )
  const engine = flags.opensearch === undefined ? undefined : { ...NO_ENGINE, OPENSEARCH_URL: [flags.opensearch] }
  const tools = { embedder, reader, vectors: vectorSettingsOf(flags), dataDir: flags.dataDir, engine, output, signal }
  const corpora: AskedCorpus[] = []
  const asks: Ask[] = []
  for (const { set, mapping, questions } of read) {
    const asked = await askCorpus(set, mapping, questions, tools)
    corpora.push(asked.corpus)
    asks.push(...asked.asks)
  }
  return { corpora, outcomes: judged(asks, reader) }
}

/** Returns the mapping that an operator or the demo uses for the folder. */
async function mappingOf({ corpus, mapping }: NaturalSet): Promise<object> {
  const file = mapping ?? corpusFolderAt(corpus).mappingFile
  if (file === undefined)
    throw new OperatorError(`${corpus} holds no corpus.jsonl: name a folder that does, with --corpus.`)
  return await readMapping(file)
}

async function askCorpus(
  set: NaturalSet,
  mapping: object,
  questions: readonly NaturalQuestion[],
  { embedder, reader, vectors, dataDir, engine, output, signal }: Tools,
): Promise<{ readonly corpus: AskedCorpus; readonly asks: readonly Ask[] }> {
  const corpus = basename(resolve(set.corpus))
  const relevant = new Set(questions.flatMap((question) => [...question.relevant]))
  const input = {
    corpus: await firstReadable([join(set.corpus, 'corpus.jsonl')], 'name a folder that holds it with --corpus'),
    mapping,
    embedder,
    vectors,
    searchQuestions: set.searchQuestions,
    relevant,
    dataDir,
    engine,
    signal,
    onProgress: (stage: string, done: number, total: number, more?: string) =>
      output.progress(`${corpus}: ${stage}`, done, total, more),
    note: (sentence: string) => output.note(`${corpus}: ${sentence}`),
  }
  return await withTemporaryVersion(input, async (version) => {
    reportCorpus(version, relevant.size, input.note)
    const { onProgress, note } = input
    const tools = { embedder, reader, signal: AbortSignal.any([signal, version.node.ended]), onProgress, note }
    const { profile, measured } = await evaluated(version, corpus, tools)
    return {
      corpus: {
        corpus,
        passages: version.artifact.manifest.passages,
        questions: questions.length,
        missing: version.missing.length,
        calibration: { threshold: profile.calibration.threshold, calibrated_on: calibratedOn(measured.decision) },
      },
      asks: await askQuestions(version, corpus, questions, profile, tools),
    }
  })
}

interface Asking {
  readonly embedder: Embedder | undefined
  readonly reader: FlaggedReader | undefined
  readonly note: (sentence: string) => void
  readonly signal: AbortSignal
  readonly onProgress: (stage: string, done: number, total: number) => void
}

/** Evaluates the version as a build does that has no question set and no predecessor. */
async function evaluated(version: TemporaryVersion, corpus: string, tools: Asking): Promise<Evaluation> {
  const { artifact, parameters, store, facets, node } = version
  return await evaluate({
    versionId: artifact.versionId,
    manifestDigest: artifact.manifestDigest,
    knowledgeBase: corpus,
    artifact: { ...artifact.manifest, folder: artifact.folder },
    sourceIdOf: version.sourceIdOf,
    noteSourceIds: (passages) => passages,
    facets,
    profile: defaultProfile(parameters),
    targetRisk: parameters.target_risk,
    questionsSha256: undefined,
    store,
    embedder: tools.embedder,
    nodes: [node.client],
    day: utcDay(new Date()),
    signal: tools.signal,
    onProgress: (done, total) => tools.onProgress('calibrate', done, total),
  })
}

/** Asks each question as a caller does who may read the whole knowledge base and names no number of passages. */
async function askQuestions(
  { artifact, facets, node }: TemporaryVersion,
  corpus: string,
  questions: readonly NaturalQuestion[],
  profile: ProfileParameters,
  { embedder, reader, signal, onProgress, note }: Asking,
): Promise<readonly Ask[]> {
  const context = {
    versionId: artifact.versionId,
    facets,
    profile,
    embedder,
    nodes: [node.client],
    day: utcDay(new Date()),
    signal,
    onProgress: (done: number, total: number) => onProgress('ask', done, total),
    modes: modesOf({ embedder }),
    limit: DEFAULT_TOP_K,
  }
  const lists: { readonly question: NaturalQuestion; readonly found: ByMode<SearchResult> }[] = []
  const incomplete = new Map<number, Partial<Record<RankingMode, SearchResult>>>()
  const asked = questions.map((question) => ({ text: question.question, filters: undefined, question }))
  await askModes(asked, context, (at, mode, reply, { question }) => {
    const replies = incomplete.get(at) ?? {}
    replies[mode] = reply
    const { lexical, dense, hybrid } = replies
    if (lexical === undefined || (embedder !== undefined && (dense === undefined || hybrid === undefined))) {
      incomplete.set(at, replies)
      return
    }
    incomplete.delete(at)
    const found = dense === undefined || hybrid === undefined ? { lexical } : { lexical, dense, hybrid }
    lists[at] = { question, found }
  })
  const asks: Ask[] = []
  let unread = 0
  await forEachConcurrently(lists, EVALUATION_BOUNDS.evaluationConcurrency, async ({ question, found }, at) => {
    const read = await readingOf(question, servedOf(found), { reader, signal })
    if (reader !== undefined && read === undefined) unread++
    asks[at] = { corpus, question, found: mapModes(found, withoutTexts), calibration: profile.calibration, read }
    onProgress('read', at + 1, lists.length)
  })
  if (unread > 0) note(`questions decided without the reader, because none of their passages was scored: ${unread}`)
  return asks
}

/** A question whose decision follows once all are read. */
interface Ask {
  readonly corpus: string
  readonly question: NaturalQuestion
  readonly found: ByMode<SearchResult>
  /** Of the version, where nothing was read. */
  readonly calibration: Calibration
  readonly read: readonly number[] | undefined
}

function withoutTexts(reply: SearchResult): SearchResult {
  return { ...reply, passages: reply.passages.map((passage) => ({ ...passage, text: '' })) }
}

/** Decides each question; where its passages were read, as the reader's scores do. */
function judged(asks: readonly Ask[], reader: FlaggedReader | undefined): readonly NaturalOutcome[] {
  const byScores = reader && readCalibration(asks, reader.parameters)
  return asks.map(({ corpus, question, found, calibration, read }) =>
    judge(corpus, question, found, (read && byScores) ?? calibration, read),
  )
}

/**
 * The default of chat models. A cross-encoder has none: its decision is fitted to the questions of the tuning half that
 * find a right passage or have none.
 * @throws OperatorError for a cross-encoder with too few of either.
 */
function readCalibration(asks: readonly Ask[], { kind }: ReaderParameters): Calibration {
  if (kind === 'chat') return DEFAULT_CHAT_READER_CALIBRATION
  const samples = asks.flatMap(({ question, found, read }, at) => {
    const sufficient = question.label === 'answerable'
    if (question.half !== 'tuning' || read === undefined) return []
    if (sufficient && firstRight(question, servedOf(found).passages) === null) return []
    return [{ id: String(at), sufficient, features: readerFeatures(read) }]
  })
  const fitted = fitCalibration(samples, { features: READER_PREDICTORS, targetRisk: TARGET_RISK_DEFAULT })
  if (fitted === undefined) throw tooFewLabels()
  return { ...fitted.calibration, named: null }
}

/**
 * Returns the scores of the first passages; undefined where there is no reader, nothing was found, or no passage has a
 * recorded score.
 * @throws OperatorError where an endpoint fails: figures of a part of the questions would flatter.
 */
async function readingOf(
  { question }: NaturalQuestion,
  { passages }: SearchResult,
  { reader, signal }: Pick<Asking, 'reader' | 'signal'>,
): Promise<readonly number[] | undefined> {
  if (reader === undefined || passages.length === 0) return undefined
  try {
    const { scores } = await reader.read(question, passages.slice(0, READ_PASSAGES_MAX), signal)
    return scores.length === 0 ? undefined : scores
  } catch (error) {
    throw error instanceof ReaderError ? readerFailed(error) : error
  }
}
