import { UNANSWERABLE_ANSWERED_MAX, fitThreshold, isAnswered } from './threshold.ts'

export const EVALUATION_TOP_K = 5
export const RECALL_MIN = 0.9
const LISTED_MAX = 200

/** One question as it was answered by the candidate. */
export interface AskedQuestion {
  readonly id: string
  /** How many sections the question set names; 0: unanswerable. */
  readonly relevant: number
  /** How many of those came among the first five passages. */
  readonly found: number
  /** Score of the first passage; 0 when none came. */
  readonly topScore: number
}

/** What a version's row holds of its evaluation. Shares are in [0, 1]; lists of ids hold at most 200. */
export interface Evaluation {
  readonly kind: 'question set' | 'known items'
  /** SHA-256 of the question set; null for known items. */
  readonly question_set: string | null
  readonly questions: number
  readonly answerable: number
  readonly unanswerable: number
  /** Per answerable question the share of its relevant sections among the first five passages; the mean of that. */
  readonly recall_at_5: number
  readonly threshold: number
  readonly threshold_fitted: boolean
  /** Null without unanswerable questions. */
  readonly answered_unanswerable_share: number | null
  /** Share of the answerable questions that reach the threshold. */
  readonly coverage: number
  /** Answerable questions of which not every relevant section was found. */
  readonly misses: readonly string[]
  readonly wrongly_answered: readonly string[]
  readonly wrongly_abstained: readonly string[]
  /** Relevant ids that no passage of the version carries. */
  readonly unknown_relevant: readonly string[]
  readonly integrity: true
  readonly passed: boolean
}

export interface QuestionSource {
  readonly kind: Evaluation['kind']
  readonly sha256: string | null
  readonly unknownRelevant: readonly string[]
  /** For a set without unanswerable questions. */
  readonly defaultThreshold: number
}

/** Pure arithmetic over what was asked; the same questions and scores always give the same evaluation. */
export function measure(asked: readonly AskedQuestion[], source: QuestionSource): Evaluation {
  const answerable = asked.filter((question) => question.relevant > 0)
  const unanswerable = asked.filter((question) => question.relevant === 0)
  const fitted = unanswerable.length > 0
  const threshold = fitted ? fitThreshold(answerable.map(topScore), unanswerable.map(topScore)) : source.defaultThreshold
  const reaches = (question: AskedQuestion): boolean => isAnswered(question.topScore, threshold)
  const recall = mean(answerable.map((question) => question.found / question.relevant))
  const wronglyAnswered = unanswerable.filter(reaches)
  const answeredShare = fitted ? wronglyAnswered.length / unanswerable.length : null
  return {
    kind: source.kind,
    question_set: source.sha256,
    questions: asked.length,
    answerable: answerable.length,
    unanswerable: unanswerable.length,
    recall_at_5: recall,
    threshold,
    threshold_fitted: fitted,
    answered_unanswerable_share: answeredShare,
    coverage: mean(answerable.map((question) => (reaches(question) ? 1 : 0))),
    misses: listed(answerable.filter((question) => question.found < question.relevant)),
    wrongly_answered: listed(wronglyAnswered),
    wrongly_abstained: listed(answerable.filter((question) => !reaches(question))),
    unknown_relevant: source.unknownRelevant.slice(0, LISTED_MAX),
    integrity: true,
    passed: recall >= RECALL_MIN && (answeredShare ?? 0) <= UNANSWERABLE_ANSWERED_MAX,
  }
}

function topScore(question: AskedQuestion): number {
  return question.topScore
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length
}

function listed(questions: readonly AskedQuestion[]): readonly string[] {
  return questions.slice(0, LISTED_MAX).map((question) => question.id)
}
