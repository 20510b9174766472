import { probability } from './calibration.ts'
import type { Calibration } from './calibration.ts'
import { PREDICTORS, READER_PREDICTORS, readerPredictors } from './predictors.ts'
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

/**
 * Returns the calibrated probability that the list holds sufficient evidence; 0 where nothing was found.
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
  return probability(calibration, DECISION_PREDICTORS, decisionPredictors(predictors, read))
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
