import { DEFAULT_CHAT_READER_CALIBRATION, DEFAULT_REWRITTEN_CALIBRATION } from '#core/domain/default-calibration.ts'
import { probability } from '#core/domain/calibration.ts'
import { READER_PREDICTORS, readerPredictors } from '#core/domain/predictors.ts'
import { READ_PASSAGES_MAX, type ReaderParameters, type RewriterParameters } from '#core/domain/retrieval-profile.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { sha256 } from '#core/platform/digest.ts'
import type { Reader } from '#core/reading/reader.ts'
import { forEachConcurrently } from '#core/platform/for-each-concurrently.ts'
import { askModes, servedMode, type AskContext, type RankedResult, servedOf, type AskRecordsContext } from './ask.ts'
import { EVALUATION_BOUNDS } from './bounds.ts'
import { CALIBRATION_QUESTIONS_MIN, fitCalibration, type CalibrationQuestion } from './calibration/fit.ts'
import { modelFigures, type DecisionOptions } from './figures.ts'
import type { QueryWithQrels } from './questions.ts'
import { withinFilters, type Description } from '#core/index/format/description.ts'
import { REWRITING_BOUNDS } from '#core/rewriting/bounds.ts'
import { NoUsableQueryError, type Rewriter } from '#core/rewriting/rewriter.ts'
import { decisionOf } from './decision.ts'
import { askQuestions } from './outcomes.ts'

/**
 * Has the reader of a profile read the first passages of labelled questions, and fits its decision on them. Questions
 * that find nothing are left out, and those without a recorded score. Where there are too few labels, the default of
 * chat models stays.
 * @param note is told the greatest number of calls before the first one.
 * @throws OperatorError where a cross-encoder, which has no default, has too few labels.
 * @throws ReaderError if the endpoint fails; a repetition reads what is missing, where the reader keeps its scores.
 */
export async function measureReader(
  questions: readonly QueryWithQrels[],
  reader: Reader,
  parameters: ReaderParameters,
  context: AskContext & { readonly targetRisk: number; readonly note: (sentence: string) => void },
) {
  const readings = await readingsOf(labelledSample(questions), reader, context)
  const fitted = fitCalibration(readings, { features: READER_PREDICTORS, targetRisk: context.targetRisk })
  if (fitted === undefined && parameters.kind === 'cross-encoder') throw tooFewLabels()
  const calibration = fitted ? { ...fitted.calibration, named: null } : DEFAULT_CHAT_READER_CALIBRATION
  const scored =
    fitted?.outOfFold ??
    readings.map(({ sufficient, features }) => ({
      sufficient,
      score: probability(calibration, READER_PREDICTORS, features),
    }))
  return {
    /** With the fitted calibration, or the default of chat models. */
    parameters: { ...parameters, calibration },
    figures: modelFigures(parameters.model, scored, calibration, fitted !== undefined),
  }
}

export function tooFewLabels(): OperatorError {
  return new OperatorError(
    `A cross-encoder has no default decision: label at least ${CALIBRATION_QUESTIONS_MIN} answerable and as many ` +
      'unanswerable questions, and evaluate again.',
  )
}

/** @returns values of READER_PREDICTORS. @param scores at least one. */
export function readerFeatures(scores: readonly number[]): readonly number[] {
  const figures = readerPredictors(scores)
  return READER_PREDICTORS.map((name) => figures[name])
}

function labelledSample(questions: readonly QueryWithQrels[]): readonly QueryWithQrels[] {
  const labelled = questions.filter(({ answerable }) => answerable !== undefined)
  if (labelled.length <= EVALUATION_BOUNDS.readQuestionsMax) return labelled
  const keyOf = ({ id }: QueryWithQrels): string => sha256(id).toString('hex')
  return labelled.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1)).slice(0, EVALUATION_BOUNDS.readQuestionsMax)
}

async function readingsOf(
  questions: readonly QueryWithQrels[],
  reader: Reader,
  context: Parameters<typeof measureReader>[3],
): Promise<readonly CalibrationQuestion[]> {
  if (questions.length === 0) return []
  context.note(
    `The reader is asked at most ${questions.length} times, each time about a question and up to ${READ_PASSAGES_MAX} passages.`,
  )
  const lists: { readonly question: QueryWithQrels; readonly found: RankedResult }[] = []
  const asking = { ...context, modes: [servedMode(context)], limit: READ_PASSAGES_MAX }
  await askModes(questions, asking, (at, _mode, found, question) => {
    lists[at] = { question, found }
  })
  const readings: (CalibrationQuestion | undefined)[] = []
  await forEachConcurrently(lists, EVALUATION_BOUNDS.evaluationConcurrency, async ({ question, found }, at) => {
    const { id, text, answerable, group } = question
    if (found.passages.length > 0 && answerable !== undefined) {
      const scores = found.read ?? (await reader.read(text, found.passages, context.signal)).scores
      if (scores.length > 0) readings[at] = { id, sufficient: answerable, group, features: readerFeatures(scores) }
    }
    context.onProgress(at + 1, lists.length)
  })
  return readings.filter((each) => each !== undefined)
}

type Context = AskRecordsContext & { readonly note: (sentence: string) => void }

/**
 * Has the rewriter of a profile rewrite labelled questions, searches its queries, and fits the decision on what they
 * find. A fit is kept only where it stays silent about texts that no passage answers, with their own rewritings.
 * @param items texts of passages of the version.
 * @throws RewriterError if the endpoint fails; a repetition writes what is missing, where rewritings are kept.
 */
export async function measureRewriter(
  questions: readonly QueryWithQrels[],
  rewriter: Rewriter,
  parameters: RewriterParameters,
  options: DecisionOptions,
  items: readonly { readonly text: string }[],
  context: Context,
) {
  const sample = labelledSample(questions)
  context.note(`The rewriter is asked about ${sample.length} questions, then about texts that no passage answers.`)
  const asked = await withRewritings(sample, rewriter, parameters.description, context)
  const outcomes = servedOf(await askQuestions(asked, EVALUATION_BOUNDS.rewrittenDepth, context))
  const profile = { ...context.profile, calibration: DEFAULT_REWRITTEN_CALIBRATION }
  const { calibration, scored, isFitted } = await decisionOf(
    asked,
    outcomes,
    options,
    items,
    { ...context, profile },
    (texts) => withRewritings(texts, rewriter, parameters.description, context, { leavesOut: true }),
  )
  return {
    /** With the fitted calibration, or the default. */
    parameters: { ...parameters, calibration },
    figures: modelFigures(parameters.model, scored, calibration, isFitted),
  }
}

type Rewritten<Q> = Q & { readonly rewritten: readonly string[] }

/**
 * Returns each text with its rewriting.
 * @param leavesOut texts for which the model writes nothing usable, as it may for words of no language.
 * @throws RewriterError if the endpoint fails.
 */
export async function withRewritings<Q extends { readonly text: string }>(
  texts: readonly Q[],
  rewriter: Rewriter,
  description: Description,
  { facets, signal, onProgress }: Pick<AskContext, 'facets' | 'signal' | 'onProgress'>,
  { leavesOut = false } = {},
): Promise<readonly Rewritten<Q>[]> {
  const knowledgeBase = withinFilters(description, facets)
  const all: (Rewritten<Q> | undefined)[] = []
  await forEachConcurrently(texts, EVALUATION_BOUNDS.evaluationConcurrency, async (each, at) => {
    const { rewriterTimeoutMaxMs: timeoutMs } = REWRITING_BOUNDS
    const reply = await rewriter.rewrite(each.text, knowledgeBase, timeoutMs, signal).catch((error: unknown) => {
      if (!leavesOut || !(error instanceof NoUsableQueryError)) throw error
    })
    if (reply) all[at] = { ...each, rewritten: reply.queries }
    onProgress(at + 1, texts.length)
  })
  return all.filter((each) => each !== undefined)
}
