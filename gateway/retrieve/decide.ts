import { decideOn } from '#core/domain/decision.ts'
import { PREDICTORS } from '#core/domain/predictors.ts'
import { EVIDENCE_SIGNAL } from '#core/domain/retrieval-profile.ts'
import { ServiceError } from '#core/platform/errors.ts'
import type { PinnedRequest } from './pin.ts'
import type { Abstention } from './schema.ts'
import type { Evidence } from './search.ts'

/**
 * Decides `answer` iff a passage remains, no explicit reference is unsupported, and the observed value reaches the
 * profile's threshold.
 * @throws ServiceError RETRIEVAL_UNAVAILABLE when the node sent other predictors than the profile was calibrated on.
 */
export function decide(pinned: PinnedRequest, evidence: Evidence): Abstention {
  const { predictors, unsupported } = evidence
  const { calibration } = pinned.profile.parameters
  const { features, named, threshold } = calibration
  const needed = [...features, ...(named === null ? [] : ['named', ...named.features])]
  if (!needed.every((feature) => Number.isFinite(predictors[PREDICTORS.findIndex((name) => name === feature)])))
    throw new ServiceError('RETRIEVAL_UNAVAILABLE', {
      cause: new Error('the search node sent other predictors than this gateway expects'),
    })
  const { decision, observedValue } = decideOn(calibration, evidence)
  return {
    decision,
    signal: EVIDENCE_SIGNAL,
    threshold,
    observed_value: observedValue,
    unsupported_explicit_references: unsupported.map(({ text, normalized, reason }) => ({ text, normalized, reason })),
  }
}
