import { statisticInterval, type Interval } from './resampling.ts'
import { CALIBRATION_CURVE_POINTS_MAX } from '#core/domain/calibration.ts'
import type { EvaluationReport } from '#jobs/evaluation/page/evaluation-report.ts'

/** Number of equal-width bins over [0, 1], as in Guo et al. 2017. */
const RELIABILITY_BINS = 15

/** One question: the score of the service, and whether the list held sufficient evidence. */
export interface ScoredQuestion {
  readonly score: number
  readonly sufficient: boolean
}

/**
 * Result of answering the questions with a score of at least `threshold`: the share answered, and the share of the
 * answers without evidence.
 */
export interface OperatingPoint {
  readonly threshold: number
  readonly coverage: number
  readonly risk: number
}

/**
 * Computes the area under the ROC curve: the probability that a question with evidence scores above one without. Ties
 * count half (Mann & Whitney 1947).
 * @returns undefined unless there are questions of both kinds.
 */
export function auroc(questions: readonly ScoredQuestion[]): number | undefined {
  const ascending = questions.toSorted((a, b) => a.score - b.score)
  return weightedAuroc(ascending, new Uint32Array(ascending.length).fill(1))
}

/** Computes the bootstrap interval of `auroc`; resamples with questions of one kind only are left out. */
export function aurocInterval(questions: readonly ScoredQuestion[]): Interval | undefined {
  if (questions.length === 0) return undefined
  const ascending = questions.toSorted((a, b) => a.score - b.score || Number(a.sufficient) - Number(b.sufficient))
  return statisticInterval(ascending.length, (counts) => weightedAuroc(ascending, counts))
}

/** Uses whole numbers only, so that the order within a tie has no effect. */
function weightedAuroc(ascending: readonly ScoredQuestion[], counts: Uint32Array): number | undefined {
  let [sufficientBelow, insufficientBelow, sufficient, insufficient, twiceWon] = [0, 0, 0, 0, 0]
  const endTie = (): void => {
    twiceWon += sufficient * (2 * insufficientBelow + insufficient)
    sufficientBelow += sufficient
    insufficientBelow += insufficient
    ;[sufficient, insufficient] = [0, 0]
  }
  for (const [at, question] of ascending.entries()) {
    if (at > 0 && question.score !== ascending[at - 1]?.score) endTie()
    if (question.sufficient) sufficient += counts[at] ?? 0
    else insufficient += counts[at] ?? 0
  }
  endTie()
  const pairs = sufficientBelow * insufficientBelow
  return pairs === 0 ? undefined : twiceWon / (2 * pairs)
}

/**
 * Computes the selective risk of the 1, 2, … n highest-scored questions (Geifman & El-Yaniv 2017): their share without
 * evidence. Within a tie, which has no order, it is the mean over all orders.
 */
export function selectiveRisks(questions: readonly ScoredQuestion[]): Float64Array {
  const risks = new Float64Array(questions.length)
  let [answered, failed] = [0, 0]
  for (const tie of ties(questions)) {
    const share = tie.insufficient / tie.questions
    for (let within = 1; within <= tie.questions; within++)
      risks[answered + within - 1] = (failed + within * share) / (answered + within)
    answered += tie.questions
    failed += tie.insufficient
  }
  return risks
}

/**
 * Computes the area under the risk–coverage curve: the mean of the selective risks; lower is better. Returns undefined
 * without questions.
 */
export function aurc(questions: readonly ScoredQuestion[]): number | undefined {
  return questions.length === 0
    ? undefined
    : selectiveRisks(questions).reduce((sum, risk) => sum + risk, 0) / questions.length
}

/**
 * Returns the risk–coverage curve as at most `pointsMax` pairs [coverage, risk], with coverage in even steps up to 1.
 */
export function riskCoverageCurve(
  questions: readonly ScoredQuestion[],
  pointsMax: number,
): [coverage: number, risk: number][] {
  const risks = selectiveRisks(questions)
  const points = Math.min(pointsMax, risks.length)
  return Array.from({ length: points }, (_, at) => {
    const answered = Math.ceil(((at + 1) * risks.length) / points)
    return [answered / risks.length, risks[answered - 1] ?? 0]
  })
}

/**
 * Returns the operating point of every distinct threshold, highest first. A threshold is the lowest score that is
 * answered. Questions of equal score are answered together.
 */
export function operatingPoints(questions: readonly ScoredQuestion[]): readonly OperatingPoint[] {
  let [answered, failed] = [0, 0]
  return ties(questions).map((tie) => {
    answered += tie.questions
    failed += tie.insufficient
    return { threshold: tie.score, coverage: answered / questions.length, risk: failed / answered }
  })
}

/** Returns the operating point of the largest coverage whose risk is at most the target; undefined when none has. */
export function coverageAtRisk(questions: readonly ScoredQuestion[], targetRisk: number): OperatingPoint | undefined {
  return operatingPoints(questions).findLast(({ risk }) => risk <= targetRisk)
}

/** Counts questions in fifteen bins of equal width; a probability of 1 belongs to the last. */
export function reliabilityBins(questions: readonly ScoredQuestion[]): DecisionFigures['reliability'] {
  const bins = Array.from({ length: RELIABILITY_BINS }, () => ({ questions: 0, predicted: 0, sufficient: 0 }))
  for (const { score, sufficient } of questions.toSorted((a, b) => a.score - b.score)) {
    const bin = bins[Math.min(RELIABILITY_BINS - 1, Math.floor(score * RELIABILITY_BINS))]
    if (bin === undefined) throw new RangeError('a probability lies outside [0, 1]')
    bin.questions++
    bin.predicted += score
    if (sufficient) bin.sufficient++
  }
  return bins.map((bin, at) => ({
    from: at / RELIABILITY_BINS,
    to: (at + 1) / RELIABILITY_BINS,
    questions: bin.questions,
    predicted: bin.questions === 0 ? null : bin.predicted / bin.questions,
    observed: bin.questions === 0 ? null : bin.sufficient / bin.questions,
  }))
}

/**
 * Computes the expected calibration error (Guo et al. 2017): the mean distance between predicted and observed, weighted
 * by questions. Returns undefined without questions.
 */
export function expectedCalibrationError(questions: readonly ScoredQuestion[]): number | undefined {
  if (questions.length === 0) return undefined
  let sum = 0
  for (const bin of reliabilityBins(questions))
    sum += bin.questions * Math.abs((bin.predicted ?? 0) - (bin.observed ?? 0))
  return sum / questions.length
}

interface Tie {
  readonly score: number
  questions: number
  insufficient: number
}

/** Groups questions by score, highest first. */
function ties(questions: readonly ScoredQuestion[]): readonly Tie[] {
  const found: Tie[] = []
  for (const { score, sufficient } of questions.toSorted((a, b) => b.score - a.score)) {
    let tie = found.at(-1)
    if (tie?.score !== score) found.push((tie = { score, questions: 0, insufficient: 0 }))
    tie.questions++
    if (!sufficient) tie.insufficient++
  }
  return found
}

/** Quality of the decision on questions of both kinds. */
export type DecisionFigures = NonNullable<EvaluationReport['abstention']>
type DecisionRule = Pick<DecisionFigures, 'signal' | 'threshold' | 'target_risk' | 'folds'>

/**
 * @param questions with the observed value as score, in [0, 1]. Where the rule was fitted on the questions, the scores
 * come from cross-validation.
 */
export function decisionFigures(questions: readonly ScoredQuestion[], rule: DecisionRule): DecisionFigures {
  const both = questions.some(({ sufficient }) => sufficient) && questions.some(({ sufficient }) => !sufficient)
  const coverage = coverageAtRisk(questions, rule.target_risk)?.coverage ?? 0
  return {
    ...rule,
    auroc: auroc(questions) ?? null,
    auroc_ci: aurocInterval(questions) ?? null,
    aurc: both ? (aurc(questions) ?? null) : null,
    ece: both ? (expectedCalibrationError(questions) ?? null) : null,
    coverage_at_target: both ? coverage : null,
    answered_sufficient: answeredShare(questions, true, rule.threshold),
    answered_insufficient: answeredShare(questions, false, rule.threshold),
    curve: both ? riskCoverageCurve(questions, CALIBRATION_CURVE_POINTS_MAX) : [],
    reliability: both ? reliabilityBins(questions) : [],
  }
}

function answeredShare(questions: readonly ScoredQuestion[], sufficient: boolean, threshold: number): number | null {
  const own = questions.filter((question) => question.sufficient === sufficient)
  return own.length === 0 ? null : own.filter(({ score }) => score >= threshold).length / own.length
}
