import { probability } from './calibration.ts'
import type { Calibration } from './calibration.ts'
import { PREDICTORS } from './predictors.ts'
import type { SearchResult } from './search.ts'

export interface EvidenceDecision {
  readonly decision: 'answer' | 'abstain'
  /** In [0, 1]. */
  readonly observedValue: number
}

/**
 * Decides `answer` iff a passage remains, no explicit reference is unsupported, and the observed value reaches the
 * threshold. The gateway and every evaluation decide by this function.
 * @throws RangeError when a predictor that the calibration uses is missing or not finite.
 */
export function decideOn(
  calibration: Calibration,
  { passages, predictors, unsupported }: Pick<SearchResult, 'passages' | 'predictors' | 'unsupported'>,
): EvidenceDecision {
  const observedValue = observedValueOf(calibration, passages.length, predictors)
  const answers = passages.length > 0 && unsupported.length === 0 && observedValue >= calibration.threshold
  return { decision: answers ? 'answer' : 'abstain', observedValue }
}

/**
 * Returns the calibrated probability that the list holds sufficient evidence; 0 where nothing was found.
 * @param found number of passages in the list.
 * @param predictors in the order of `PREDICTORS`.
 */
export function observedValueOf(calibration: Calibration, found: number, predictors: readonly number[]): number {
  return found === 0 ? 0 : probability(calibration, PREDICTORS, predictors)
}
