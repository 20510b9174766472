import { probability } from '#core/domain/calibration.ts'
import { PREDICTORS } from '#core/domain/predictors.ts'
import { ServiceError } from '#core/platform/errors.ts'
import type { PinnedRequest } from './pin.ts'
import type { Abstention } from './schema.ts'
import type { Evidence } from './search.ts'

/**
 * Decides `answer` iff a passage remains, no explicit reference is unsupported, and the observed value reaches the
 * profile's threshold.
 * @throws ServiceError RETRIEVAL_UNAVAILABLE when the node sent other predictors than the profile was calibrated on.
 */
export function decide(pinned: PinnedRequest, { passages, predictors, unsupported }: Evidence): Abstention {
  const { threshold, signal, parameters } = pinned.profile
  if (predictors.length !== PREDICTORS.length || !predictors.every(Number.isFinite))
    throw new ServiceError('RETRIEVAL_UNAVAILABLE', {
      cause: new Error('the search node sent other predictors than this gateway expects'),
    })
  const observed = passages.length === 0 ? 0 : probability(parameters.calibration, PREDICTORS, predictors)
  const answers = passages.length > 0 && unsupported.length === 0 && observed >= threshold
  return {
    decision: answers ? 'answer' : 'abstain',
    signal,
    threshold,
    observed_value: observed,
    unsupported_explicit_references: unsupported.map(({ text, normalized, reason }) => ({ text, normalized, reason })),
  }
}
