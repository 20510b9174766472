import { DECISION_PREDICTORS, decideOn, decisionPredictors } from '#core/domain/decision.ts'
import { EVIDENCE_SIGNAL, READ_EVIDENCE_SIGNAL } from '#core/domain/retrieval-profile.ts'
import { ServiceError } from '#core/platform/errors.ts'
import type { PinnedRequest } from './pin.ts'
import type { Abstention } from './schema.ts'
import type { Evidence } from './search.ts'

/**
 * Decides `answer` iff a passage remains, no explicit reference is unsupported, and the observed value reaches the
 * profile's threshold. Where the passages were read, the calibration of the profile's reader decides.
 * @throws ServiceError RETRIEVAL_UNAVAILABLE when the node sent other predictors than the profile was calibrated on.
 */
export function decide(pinned: PinnedRequest, evidence: Evidence): Abstention {
  const { predictors, unsupported, read } = evidence
  const { calibration: withoutReader, reader } = pinned.profile.parameters
  const withReader = read === undefined ? null : (reader?.calibration ?? null)
  const calibration = withReader ?? withoutReader
  const { features, named, threshold } = calibration
  const needed = [...features, ...(named === null ? [] : ['named', ...named.features])]
  const values = decisionPredictors(predictors, read)
  const valueOf = (feature: string): unknown => values[DECISION_PREDICTORS.findIndex((name) => name === feature)]
  if (!needed.every((feature) => Number.isFinite(valueOf(feature))))
    throw new ServiceError('RETRIEVAL_UNAVAILABLE', {
      cause: new Error('the search node sent other predictors than this gateway expects'),
    })
  const { decision, observedValue } = decideOn(calibration, evidence)
  return {
    decision,
    signal: withReader === null ? EVIDENCE_SIGNAL : READ_EVIDENCE_SIGNAL,
    threshold,
    observed_value: observedValue,
    unsupported_explicit_references: unsupported.map(({ text, normalized, reason }) => ({ text, normalized, reason })),
  }
}
