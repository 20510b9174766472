import { DEFAULT_MODEL_CALIBRATION, NAMED_BY_WORDS, NAMED_MODEL } from '#core/domain/default-calibration.ts'
import { DESCRIPTIVE_PREDICTORS, PREDICTORS, predictorOf, type Predictor } from '#core/domain/predictors.ts'
import type { Embedding } from '#core/embedding/embedder.ts'
import { hasEvidence, observedValueOf } from '#core/domain/decision.ts'
import type { Calibration } from '#core/domain/calibration.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { mapModes, type ByMode } from './ask.ts'
import { fitCalibration, correctNamed, type Fitted } from './calibration/fit.ts'
import { auroc, type ScoredQuestion } from './metrics/abstention.ts'
import { systemFigures, type SystemFigures } from './metrics/ranking.ts'
import type { Outcome, Outcomes } from './outcomes.ts'
import type { ReaderFigures, Refused } from './page/evaluation-report.ts'
import type { QueryWithQrels } from './questions.ts'

/** Means over the questions that have a relevant record and are not labelled unanswerable. */
export function rankingsOf(outcomes: Outcomes): ByMode<SystemFigures> {
  return mapModes(outcomes, (asked) => systemFigures(asked.flatMap(({ figures }) => figures ?? [])))
}

/** The predictors of lists without a named provision. */
const FITTED_OF_WORDS: readonly Predictor[] = [
  'document_share',
  'document_agreement',
  'near_pairs',
  ...DESCRIPTIVE_PREDICTORS,
  'first_coverage',
  'words_best',
  'grams_best',
]
const NAMES: readonly string[] = PREDICTORS

export interface DecisionOptions {
  /** Maximum share of the answers without evidence. */
  readonly targetRisk: number
  readonly embedding: Embedding
  /** Whether the version has search questions; absent: it has none. */
  readonly searchQuestions?: boolean
  /** Those of the version in row order, by which questions lose their evidence; absent: none does. */
  readonly passages?: () => AsyncIterable<PassageRecord>
}

/**
 * Fits the decision on the labelled questions, with cross-validation. Lists of a named provision have a model of their
 * own, which the questions correct.
 * @param unfitted the default decision of the version, whose floors hold for the fit too.
 * @returns undefined where there are too few labels, or labels of one kind only.
 * @throws RangeError when a node sent too few predictors.
 */
export function fitDecision(
  questions: readonly QueryWithQrels[],
  outcomes: readonly Outcome[],
  { targetRisk, embedding, searchQuestions = false }: DecisionOptions,
  unfitted: Calibration = DEFAULT_MODEL_CALIBRATION,
): Fitted | undefined {
  const names = [...FITTED_OF_WORDS]
  if (embedding === 'openai') names.push('nearest_vector')
  if (searchQuestions) names.push('search_questions_only')
  const floors = names.map((name) => unfitted.floors?.[unfitted.features.indexOf(name)] ?? null)
  const base = embedding === 'openai' ? NAMED_MODEL : NAMED_BY_WORDS
  const labelled = questions.flatMap(({ id, answerable, group }, at) => {
    const predictors = outcomes[at]?.predictors
    if (answerable === undefined || predictors === undefined) return []
    const isNamed = predictorOf(predictors, 'named') === 1
    const features = (isNamed ? base.features : names).map((name, of) =>
      Math.max(predictors[NAMES.indexOf(name)] ?? Number.NaN, isNamed ? -Infinity : (floors[of] ?? -Infinity)),
    )
    const isEvident = hasEvidence({ features: names, floors }, predictors)
    return [{ id, sufficient: answerable, group, features, isNamed, isEvident }]
  })
  const ofProvisions = labelled.filter(({ isNamed }) => isNamed).toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const { model, probabilities } = correctNamed(base, ofProvisions)
  const given = new Map(ofProvisions.map(({ id }, at) => [id, probabilities[at]]))
  const samples = labelled.map((question) => ({ ...question, given: given.get(question.id) }))
  return fitCalibration(samples, { features: names, floors, targetRisk, named: model })
}

/**
 * The decision of a profile and its scores on the labelled questions. Where the decision was fitted on them, the scores
 * come from cross-validation.
 */
export interface Decision {
  readonly calibration: Calibration
  readonly scored: Readonly<Fitted['outOfFold']>
  readonly isFitted: boolean
  /** A fitted decision that is not used. */
  readonly refused?: Refused
}

/** Scores the labelled questions under a decision that was not fitted on them. */
export function scoredBy(calibration: Calibration, questions: readonly QueryWithQrels[], outcomes: readonly Outcome[]) {
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

/** How a model that the profile names decides on the labelled questions that it was asked about. */
export function modelFigures(
  model: string,
  scored: readonly ScoredQuestion[],
  { threshold }: Pick<Calibration, 'threshold'>,
  isFitted: boolean,
): ReaderFigures {
  const answered = (sufficient: boolean): number =>
    scored.filter((each) => each.sufficient === sufficient && each.score >= threshold).length
  return {
    model,
    questions: scored.length,
    answerable: scored.filter(({ sufficient }) => sufficient).length,
    answered_answerable: answered(true),
    answered_unanswerable: answered(false),
    auroc: auroc(scored) ?? null,
    is_fitted: isFitted,
  }
}
