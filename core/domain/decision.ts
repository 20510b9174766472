import { probability, type Calibration } from './calibration.ts'
import { NEAREST_LEVEL } from './default-calibration.ts'
import { PREDICTORS, READER_PREDICTORS, predictorOf, readerPredictors, type Predictor } from './predictors.ts'
import type { SearchResult } from './search.ts'

export interface EvidenceDecision {
  readonly decision: 'answer' | 'abstain'
  /** In [0, 1]. */
  readonly observedValue: number
}

/** A ranked list, and a reader's scores of its first passages where they were read. */
export type JudgedList = Pick<SearchResult, 'predictors' | 'unsupported'> & {
  readonly passages: { readonly length: number }
  readonly read?: readonly number[] | undefined
}

/**
 * Decides `answer` iff a passage remains, no explicit reference is unsupported, and the observed value reaches the
 * threshold. The gateway and every evaluation decide by this function.
 * @throws RangeError when a predictor that the calibration uses is missing or not finite.
 */
export function decideOn(
  calibration: Calibration,
  { passages, predictors, unsupported, read }: JudgedList,
): EvidenceDecision {
  const observedValue = observedValueOf(calibration, passages.length, predictors, read)
  const answers = passages.length > 0 && unsupported.length === 0 && observedValue >= calibration.threshold
  return { decision: answers ? 'answer' : 'abstain', observedValue }
}

/** A list without evidence is never nearer to an answer than at this share of the threshold. */
export const WITHOUT_EVIDENCE_MAX = 0.99

/**
 * Returns the calibrated probability that the list holds sufficient evidence; 0 where nothing was found. A list without
 * evidence above the background stays below the threshold, whatever the calibration says; a threshold of 0 answers
 * every list.
 * @param found number of passages in the list.
 * @param predictors in the order of `PREDICTORS`.
 * @param read scores of a reader; undefined: nothing was read.
 */
export function observedValueOf(
  calibration: Calibration,
  found: number,
  predictors: readonly number[],
  read?: readonly number[],
): number {
  if (found === 0) return 0
  const value = probability(calibration, DECISION_PREDICTORS, decisionPredictors(predictors, read))
  if (calibration.threshold === 0 || hasEvidence(calibration, predictors)) return value
  return Math.min(value, WITHOUT_EVIDENCE_MAX * calibration.threshold)
}

/**
 * Whether a list holds evidence above the background in the version: words and character n-grams together, a named
 * provision, or a passage nearer than the version's background. Vectors are evidence where the calibration weighs them,
 * and so is what a reader said.
 */
export function hasEvidence(
  { features, floors }: Pick<Calibration, 'features' | 'floors'>,
  predictors: readonly number[],
): boolean {
  const nearest = features.indexOf('nearest_vector')
  const valueOf = (name: Predictor): number => predictorOf(predictors, name) ?? 0
  return (
    READER_PREDICTORS.some((name) => features.includes(name)) ||
    valueOf('named') === 1 ||
    valueOf('words_best') + valueOf('grams_best') + valueOf('grams_mass') > 0 ||
    (nearest !== -1 && valueOf('nearest_vector') > (floors?.[nearest] ?? NEAREST_LEVEL))
  )
}

/** What a calibration may use, in this order. */
export const DECISION_PREDICTORS = [...PREDICTORS, ...READER_PREDICTORS] as const

/** @returns the values of `DECISION_PREDICTORS`; NaN where one was not measured. */
export function decisionPredictors(predictors: readonly number[], read?: readonly number[]): readonly number[] {
  const byReader = readerPredictors(read ?? [])
  return [
    ...PREDICTORS.map((_, at) => predictors[at] ?? Number.NaN),
    ...READER_PREDICTORS.map((name) => byReader[name]),
  ]
}
