import type { Calibration } from '#core/domain/calibration.ts'
import { decideOn, observedValueOf } from '#core/domain/decision.ts'
import { predictorOf } from '#core/domain/predictors.ts'
import { DEFAULT_TOP_K } from '#core/domain/quota-plan.ts'
import type { SearchResult } from '#core/domain/search.ts'
import type { EmbeddingSpace } from '#core/index/format/manifest.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { BOUNDS } from '#core/platform/bounds.ts'
import { askSystems } from '#jobs/evaluate/ask.ts'
import type { AskContext } from '#jobs/evaluate/ask.ts'
import { boundaryOf } from './boundary.ts'
import { FORMS, selfQuestions } from './questions.ts'
import type { Form, SelfQuestion } from './questions.ts'

export type SharesByForm = Readonly<Partial<Record<Form, number>>>

export interface SelfCalibration {
  readonly calibration: Calibration
  /** Questions that were made from the version. */
  readonly questions: number
  /** Change of the default's intercept. */
  readonly shift: number
  /** Shares of the questions that the calibration answers: of those asked of every row, and of those with a mask. */
  readonly answered: SharesByForm
  readonly masked: SharesByForm
}

/** The part of the difference from the reference by which the intercept moves, and the most that it moves. */
const SHARE = 0.5
export const SELF_SHIFT_MAX = 0.5
/**
 * Mean boundary over the versions that the defaults were fitted on, by embedding provider: the log odds under the
 * default that separate their answerable from their masked questions. See decision 0026.
 */
export const REFERENCE_BOUNDARY: Readonly<Record<EmbeddingSpace['provider'], number>> = { local: 1.45, openai: 0.5 }

/**
 * Calibrates the default decision with questions made from the version itself. Where the default separates their
 * answerable half from the masked one at another value than on the versions that it was fitted on, its intercept moves
 * by a part of the difference. The model for named provisions and the threshold stay.
 * @param passages in row order.
 */
export async function selfCalibrate(
  passages: AsyncIterable<PassageRecord>,
  context: AskContext,
): Promise<SelfCalibration> {
  const { calibration } = context.profile
  const questions = await selfQuestions(passages, { count: BOUNDS.selfCalibrationPassages, day: context.day })
  const replies = await ask(questions, context)
  const shift = shiftOf(calibration, replies, REFERENCE_BOUNDARY[context.embedder.space.provider])
  const moved = { ...calibration, intercept: calibration.intercept + shift }
  const isMasked = ({ question }: Reply): boolean => question.onlyRows !== undefined
  return {
    calibration: moved,
    questions: questions.length,
    shift,
    answered: answeredShares(
      moved,
      replies.filter((reply) => !isMasked(reply)),
    ),
    masked: answeredShares(moved, replies.filter(isMasked)),
  }
}

interface Reply {
  readonly question: SelfQuestion
  readonly found: Pick<SearchResult, 'passages' | 'predictors' | 'unsupported'>
}

/** Returns the replies in the order of the questions, so that sums over them are equal in every run. */
async function ask(questions: readonly SelfQuestion[], context: AskContext): Promise<readonly Reply[]> {
  const replies: Reply[] = []
  await askSystems(
    questions.map((question) => ({ ...question, filters: undefined })),
    { ...context, systems: ['hybrid'], limit: DEFAULT_TOP_K, withoutText: true },
    (at, _system, found, question) => {
      replies[at] = { question, found }
    },
  )
  return replies
}

/**
 * Returns the change of the intercept; 0 where too few questions measure it. It is measured on the passages' own words,
 * because off-topic questions are easier than what people ask, and named provisions have a model of their own.
 */
function shiftOf(calibration: Calibration, replies: readonly Reply[], reference: number): number {
  const general = replies.filter(
    ({ question: { form }, found: { passages, predictors, unsupported } }) =>
      (form === 'middle' || form === 'few words') &&
      passages.length > 0 &&
      unsupported.length === 0 &&
      predictorOf(predictors, 'named') !== 1,
  )
  const logits = (answerable: boolean): readonly number[] =>
    general
      .filter(({ question }) => question.answerable === answerable)
      .map(({ found: { passages, predictors } }) => logOdds(observedValueOf(calibration, passages.length, predictors)))
  const [answerable, masked] = [logits(true), logits(false)]
  if (Math.min(answerable.length, masked.length) < BOUNDS.selfCalibrationQuestionsMin) return 0
  const difference = boundaryOf(answerable, masked) - reference
  return Math.max(-SELF_SHIFT_MAX, Math.min(SELF_SHIFT_MAX, -SHARE * difference))
}

function logOdds(probability: number): number {
  return Math.log(probability / (1 - probability))
}

function answeredShares(calibration: Calibration, replies: readonly Reply[]): SharesByForm {
  const shares: Partial<Record<Form, number>> = {}
  for (const form of FORMS) {
    const ofForm = replies.filter(({ question }) => question.form === form)
    const answered = ofForm.filter(
      ({ found }) => decideOn(calibration, calibration.threshold, found).decision === 'answer',
    )
    if (ofForm.length > 0) shares[form] = answered.length / ofForm.length
  }
  return shares
}
