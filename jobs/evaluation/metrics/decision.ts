import { CALIBRATION_CURVE_POINTS_MAX } from '#core/domain/calibration.ts'
import {
  aurc,
  auroc,
  aurocInterval,
  coverageAtRisk,
  expectedCalibrationError,
  reliabilityBins,
  riskCoverageCurve,
} from './abstention.ts'
import type { ReliabilityBin, ScoredQuestion } from './abstention.ts'
import type { Interval } from './resampling.ts'

export interface DecisionRule {
  readonly signal: string
  readonly threshold: number
  readonly target_risk: number
  /** Folds of the cross-validation that gives the scores; 0: the rule was not fitted on these questions. */
  readonly folds: number
}

/** Quality of the decision on questions of both kinds; in a report under `abstention`. */
export interface DecisionFigures extends DecisionRule {
  readonly auroc: number | null
  readonly auroc_ci: Interval | null
  readonly aurc: number | null
  readonly ece: number | null
  /** Largest share of all questions that can be answered within the target; 0 when there is none. */
  readonly coverage_at_target: number | null
  /** Shares of the questions with and without evidence that reach the threshold. */
  readonly answered_sufficient: number | null
  readonly answered_insufficient: number | null
  readonly curve: readonly (readonly [coverage: number, risk: number])[]
  readonly reliability: readonly ReliabilityBin[]
  readonly distribution: ScoreDistribution
}

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
    distribution: scoreDistribution(questions),
  }
}

function answeredShare(questions: readonly ScoredQuestion[], sufficient: boolean, threshold: number): number | null {
  const own = questions.filter((question) => question.sufficient === sufficient)
  return own.length === 0 ? null : own.filter(({ score }) => score >= threshold).length / own.length
}

const DISTRIBUTION_BINS = 25

/**
 * Number of questions with an observed value in each of 25 bins of equal width over [0, 1]. Values outside count in the
 * outermost bins.
 */
interface ScoreDistribution {
  readonly sufficient: readonly number[]
  readonly insufficient: readonly number[]
}

export function scoreDistribution(questions: readonly ScoredQuestion[]): ScoreDistribution {
  const [sufficient, insufficient] = [
    new Array<number>(DISTRIBUTION_BINS).fill(0),
    new Array<number>(DISTRIBUTION_BINS).fill(0),
  ]
  for (const question of questions) {
    const bin = Math.min(DISTRIBUTION_BINS - 1, Math.max(0, Math.floor(question.score * DISTRIBUTION_BINS)))
    const counts = question.sufficient ? sufficient : insufficient
    counts[bin] = (counts[bin] ?? 0) + 1
  }
  return { sufficient, insufficient }
}
