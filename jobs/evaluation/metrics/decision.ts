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
import type { ScoredQuestion } from './abstention.ts'
import type { EvaluationReport } from '../page/evaluation-report.ts'

export interface DecisionRule {
  readonly signal: string
  readonly threshold: number
  readonly target_risk: number
  /** Folds of the cross-validation that gives the scores; 0: the rule was not fitted on these questions. */
  readonly folds: number
}

/** Quality of the decision on questions of both kinds. */
export type DecisionFigures = NonNullable<EvaluationReport['abstention']>

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
 * Counts questions by the observed value in 25 bins of equal width over [0, 1]. Values outside count in the outermost
 * bins.
 */
export function scoreDistribution(questions: readonly ScoredQuestion[]): DecisionFigures['distribution'] {
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
