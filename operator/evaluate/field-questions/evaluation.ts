import { basename, join, resolve } from 'node:path'
import { DEFAULT_TOP_K } from '#core/domain/quota-plan.ts'
import type { Calibration } from '#core/domain/calibration.ts'
import {
  DEFAULT_CHAT_READER_CALIBRATION,
  namedAt,
  DEFAULT_REWRITTEN_CALIBRATION,
} from '#core/domain/default-calibration.ts'
import { READER_PREDICTORS, PREDICTORS, predictorOf } from '#core/domain/predictors.ts'
import { READ_PASSAGES_MAX, type ProfileParameters, type ReaderParameters } from '#core/domain/retrieval-profile.ts'
import type { SearchResult } from '#core/domain/search.ts'
import { NO_ENGINE } from '#core/engine/settings.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { defaultProfile } from '#jobs/version-build/parameters.ts'
import { fitCalibration } from '#jobs/evaluation/calibration/fit.ts'
import { askModes, forModes, mapModes, modesOf, servedOf, type ByMode } from '#jobs/evaluation/ask.ts'
import { EVALUATION_BOUNDS } from '#jobs/evaluation/bounds.ts'
import { forEachConcurrently } from '#core/platform/for-each-concurrently.ts'
import { evaluate, type Evaluation } from '#jobs/evaluation/pipeline.ts'
import { readerFeatures, tooFewLabels, withRewritings } from '#jobs/evaluation/reading.ts'
import { calibratedOn } from '#jobs/evaluation/report.ts'
import { corpusFolderAt } from '#law/import/corpus/corpus-folder.ts'
import { readMapping } from '#law/import/mapping/mapping.ts'
import { TARGET_RISK_DEFAULT, type FieldQuestionFlags, type FieldQuestionSet } from '../flags.ts'
import type { FlaggedReader } from '../reader.ts'
import { openTools, type EvaluationOutput, type EvaluationTools } from '../tools.ts'
import { withTemporaryVersion, type TemporaryVersion, type VersionInput } from '../temporary-version.ts'
import { firstReadable } from '../text-lines.ts'
import { firstRight, judge } from './judge.ts'
import { readFieldQuestions, type FieldQuestion } from './questions.ts'

export type AskedCorpora = Awaited<ReturnType<typeof evaluateFieldQuestions>>

/**
 * Asks field questions of corpora, one after the other: read → build → load → calibrate → ask → judge. Each version is
 * built, evaluated and decided on as one without a question set is by a job worker and a gateway.
 * @returns the outcomes of all corpora, in the order of the questions, and the decision that was fitted on the tuning
 * half, where one was asked for.
 * @throws OperatorError for each fault of a corpus or its questions.
 */
export async function evaluateFieldQuestions(flags: FieldQuestionFlags, output: EvaluationOutput, signal: AbortSignal) {
  const read: { set: FieldQuestionSet; mapping: object; questions: readonly FieldQuestion[] }[] = []
  for (const set of flags.sets) {
    const questions = await readFieldQuestions(set, flags.half, signal)
    read.push({ set, mapping: await mappingOf(set), questions })
  }
  const texts = read.flatMap(({ questions }) => questions.map(({ id, question: text }) => ({ id, text })))
  const tools = await openTools(flags, texts, output, signal)
  const engine = flags.opensearch === undefined ? undefined : { ...NO_ENGINE, OPENSEARCH_URL: [flags.opensearch] }
  const asked: Awaited<ReturnType<typeof askCorpus>>[] = []
  for (const { set, mapping, questions } of read) {
    const corpus = await firstReadable([join(set.corpus, 'corpus.jsonl')], 'name a folder that holds it with --corpus')
    const version = { corpus, mapping, searchQuestions: set.searchQuestions, engine }
    asked.push(await askCorpus(basename(resolve(set.corpus)), version, questions, tools))
  }
  const asks = asked.flatMap((each) => each.asks)
  const fitted = flags.fit === undefined ? undefined : fittedOnTuning(asks, flags.fit)
  return { corpora: asked.map(({ corpus }) => corpus), outcomes: judged(asks, tools.reader, fitted), fitted }
}

/** Returns the mapping that an operator or the demo uses for the folder. */
async function mappingOf({ corpus, mapping }: FieldQuestionSet): Promise<object> {
  const file = mapping ?? corpusFolderAt(corpus).mappingFile
  if (file === undefined)
    throw new OperatorError(`${corpus} holds no corpus.jsonl: name a folder that does, with --corpus.`)
  return await readMapping(file)
}

async function askCorpus(
  corpus: string,
  version: Pick<VersionInput, 'corpus' | 'mapping' | 'searchQuestions' | 'engine'>,
  questions: readonly FieldQuestion[],
  tools: EvaluationTools,
) {
  const relevant = new Set(questions.flatMap((question) => [...question.relevant]))
  const onProgress: VersionInput['onProgress'] = (stage, done, total, more) =>
    tools.output.progress(`${corpus}: ${stage}`, done, total, more)
  const note = (sentence: string): void => tools.output.note(`${corpus}: ${sentence}`)
  return await withTemporaryVersion({ ...version, ...tools, relevant, onProgress, note }, async (built) => {
    const asking = { ...tools, onProgress, note }
    const { profile, measured } = await evaluated(built, corpus, asking)
    return {
      corpus: {
        corpus,
        passages: built.artifact.manifest.passages,
        questions: questions.length,
        /** Relevant ids that the version does not hold. */
        missing: built.missing.length,
        calibration: { threshold: profile.calibration.threshold, calibrated_on: calibratedOn(measured.decision) },
      },
      asks: await askQuestions(built, corpus, questions, profile, asking),
    }
  })
}

type Asking = Pick<EvaluationTools, 'rewriter' | 'reader'> & Required<Pick<VersionInput, 'note' | 'onProgress'>>

/** Evaluates the version as a build does that has no question set and no predecessor. */
async function evaluated(version: TemporaryVersion, corpus: string, { onProgress }: Asking): Promise<Evaluation> {
  const { artifact, parameters, store, asking } = version
  return await evaluate({
    ...asking,
    manifestDigest: artifact.manifestDigest,
    knowledgeBase: corpus,
    artifact: { ...artifact.manifest, folder: artifact.folder },
    noteSourceIds: (passages) => passages,
    profile: defaultProfile(parameters),
    targetRisk: parameters.target_risk,
    questionsSha256: undefined,
    store,
    onProgress: (done, total) => onProgress('calibrate', done, total),
  })
}

/** Asks each question as a caller does who may read the whole knowledge base and names no number of passages. */
async function askQuestions(
  { asking, artifact }: TemporaryVersion,
  corpus: string,
  questions: readonly FieldQuestion[],
  profile: ProfileParameters,
  { rewriter, reader, onProgress, note }: Asking,
): Promise<readonly Ask[]> {
  const { signal } = asking
  const telling = (stage: string) => (done: number, total: number) => onProgress(stage, done, total)
  const context = {
    ...asking,
    profile,
    onProgress: telling('ask'),
    modes: modesOf(asking),
    limit: DEFAULT_TOP_K,
  }
  const replies = forModes(context, (): SearchResult[] => [])
  const texts = questions.map(({ question: text, rewritten }) => ({ text, rewritten, filters: undefined }))
  const { description } = artifact.manifest
  const writing = { ...asking, onProgress: telling('rewrite') }
  const asked = rewriter && description ? await withRewritings(texts, rewriter, description, writing) : texts
  await askModes(asked, context, (at, mode, reply) => {
    const list = replies[mode]
    if (list !== undefined) list[at] = reply
  })
  const asks: Ask[] = []
  let unread = 0
  await forEachConcurrently(questions, EVALUATION_BOUNDS.evaluationConcurrency, async (question, at) => {
    const found = mapModes(replies, (list) => replyAt(list, at))
    const read = await readingOf(question, servedOf(found), { reader, signal })
    if (reader !== undefined && read === undefined) unread++
    const calibration = asked[at]?.rewritten === undefined ? profile.calibration : DEFAULT_REWRITTEN_CALIBRATION
    asks[at] = { corpus, question, found: mapModes(found, withoutTexts), calibration, read }
    onProgress('read', at + 1, questions.length)
  })
  if (unread > 0) note(`questions decided without the reader, because none of their passages was scored: ${unread}`)
  return asks
}

function replyAt(replies: readonly SearchResult[], at: number): SearchResult {
  const reply = replies[at]
  if (reply === undefined) throw new Error('a question has no reply')
  return reply
}

/** A question whose decision follows once all are read. */
interface Ask {
  readonly corpus: string
  readonly question: FieldQuestion
  readonly found: ByMode<SearchResult>
  /** Of the version, where nothing was read. */
  readonly calibration: Calibration
  readonly read: readonly number[] | undefined
}

function withoutTexts(reply: SearchResult): SearchResult {
  return { ...reply, passages: reply.passages.map((passage) => ({ ...passage, text: '' })) }
}

/** Questions of the tuning half that find a right passage, and those that have none. */
function tuningAsks(asks: readonly Ask[]) {
  return asks.flatMap((ask, at) => {
    const { question, found } = ask
    const sufficient = question.label === 'answerable'
    const isWrong = sufficient && firstRight(question, servedOf(found).passages) === null
    return question.half !== 'tuning' || isWrong ? [] : [{ ...ask, id: String(at), sufficient }]
  })
}

/**
 * Fits the default's predictors on the tuning half.
 * @throws OperatorError where there are too few questions of either kind.
 */
function fittedOnTuning(asks: readonly Ask[], targetRisk: number): Calibration {
  const [first] = asks
  if (first === undefined) throw tooFewLabels()
  const { calibration: unfitted } = first
  const samples = tuningAsks(asks).flatMap(({ corpus, question, found, sufficient }) => {
    const { predictors, unsupported } = servedOf(found)
    if (unsupported.length > 0 || predictorOf(predictors, 'named') === 1) return []
    const features = unfitted.features.map((name) => predictors[PREDICTORS.findIndex((each) => each === name)] ?? 0)
    return [{ id: `${corpus} ${question.id}`, sufficient, features }]
  })
  const fitted = fitCalibration(samples, { features: unfitted.features, floors: unfitted.floors, targetRisk })
  if (fitted === undefined) throw tooFewLabels()
  return { ...fitted.calibration, ...namedAt(unfitted, fitted.calibration.threshold) }
}

/** Decides each question; where its passages were read, as the reader's scores do. */
function judged(asks: readonly Ask[], reader: FlaggedReader | undefined, fitted: Calibration | undefined) {
  const byScores = reader && readCalibration(asks, reader.parameters)
  return asks.map(({ corpus, question, found, calibration, read }) =>
    judge(corpus, question, found, (read && byScores) ?? fitted ?? calibration, read),
  )
}

/**
 * The default of chat models. A cross-encoder has none: its decision is fitted on the tuning half.
 * @throws OperatorError for a cross-encoder with too few questions of either kind.
 */
function readCalibration(asks: readonly Ask[], { kind }: ReaderParameters): Calibration {
  if (kind === 'chat') return DEFAULT_CHAT_READER_CALIBRATION
  const samples = tuningAsks(asks).flatMap(({ id, sufficient, read }) =>
    read === undefined ? [] : [{ id, sufficient, features: readerFeatures(read) }],
  )
  const fitted = fitCalibration(samples, { features: READER_PREDICTORS, targetRisk: TARGET_RISK_DEFAULT })
  if (fitted === undefined) throw tooFewLabels()
  return { ...fitted.calibration, named: null }
}

/**
 * Returns the scores of the first passages; undefined where there is no reader, nothing was found, or no passage has a
 * recorded score.
 * @throws ReaderError where an endpoint fails: figures of a part of the questions would flatter.
 */
async function readingOf(
  { question }: FieldQuestion,
  { passages }: SearchResult,
  { reader, signal }: Pick<EvaluationTools, 'reader' | 'signal'>,
): Promise<readonly number[] | undefined> {
  if (reader === undefined || passages.length === 0) return undefined
  const first = passages.slice(0, READ_PASSAGES_MAX)
  const { scores } = await reader.read(question, first, signal)
  return scores.length === 0 ? undefined : scores
}
