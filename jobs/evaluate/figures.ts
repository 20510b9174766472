import { DEFAULT_CALIBRATION } from '#core/domain/default-calibration.ts'
import { PREDICTORS } from '#core/domain/predictors.ts'
import { observedValueOf } from '#core/domain/decision.ts'
import type { Calibration } from '#core/domain/calibration.ts'
import type { System } from './ask.ts'
import { fitCalibration } from './calibration/fit.ts'
import type { Fitted } from './calibration/fit.ts'
import { systemFigures } from './metrics/ranking.ts'
import type { SystemFigures } from './metrics/ranking.ts'
import type { Outcome, Outcomes } from './outcomes.ts'
import type { QueryWithQrels } from './query-with-qrels.ts'

/** Means over the questions that have a relevant record and are not labelled unanswerable. */
export function rankingsOf(outcomes: Outcomes): Readonly<Record<System, SystemFigures>> {
  const figuresOf = (asked: readonly Outcome[]): SystemFigures =>
    systemFigures(asked.flatMap(({ figures }) => figures ?? []))
  return { lexical: figuresOf(outcomes.lexical), dense: figuresOf(outcomes.dense), hybrid: figuresOf(outcomes.hybrid) }
}

/**
 * Fits the decision on the labelled questions, with cross-validation.
 * @returns undefined where there are too few labels, or labels of one kind only.
 */
export function fitDecision(
  questions: readonly QueryWithQrels[],
  outcomes: readonly Outcome[],
  targetRisk: number,
): Fitted | undefined {
  const samples = questions.flatMap(({ id, answerable, group }, at) => {
    const predictors = outcomes[at]?.predictors
    return answerable === undefined || predictors === undefined
      ? []
      : [{ id, sufficient: answerable, group, features: predictors }]
  })
  return fitCalibration(samples, { features: PREDICTORS, targetRisk })
}

/**
 * The decision of a profile and its scores on the labelled questions. Where the decision was fitted on them, the scores
 * come from cross-validation.
 */
export interface Decision {
  readonly calibration: Calibration
  readonly scored: Fitted['outOfFold']
}

/** Returns the fitted decision, or the default where there are too few labels to fit one. */
export function decisionOf(
  questions: readonly QueryWithQrels[],
  outcomes: readonly Outcome[],
  targetRisk: number,
): Decision {
  const fitted = fitDecision(questions, outcomes, targetRisk)
  if (fitted !== undefined) return { calibration: fitted.calibration, scored: fitted.outOfFold }
  return { calibration: DEFAULT_CALIBRATION, scored: scoredBy(DEFAULT_CALIBRATION, questions, outcomes) }
}

/** Scores the labelled questions under a decision that was not fitted on them. */
export function scoredBy(
  calibration: Calibration,
  questions: readonly QueryWithQrels[],
  outcomes: readonly Outcome[],
): Fitted['outOfFold'] {
  return questions.flatMap(({ id, answerable }, at) => {
    const outcome = outcomes[at]
    return answerable === undefined || outcome === undefined
      ? []
      : [{ id, sufficient: answerable, score: observedValue(calibration, outcome) }]
  })
}

/** Returns the observed value as the gateway computes it; 0 where nothing was found. */
export function observedValue(calibration: Calibration, { top, predictors }: Outcome): number {
  return observedValueOf(calibration, top.length, predictors)
}
