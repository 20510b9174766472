import { DECISION_PREDICTORS, decideOn, decisionPredictors } from '#core/domain/decision.ts'
import { decidingCalibration } from '#core/domain/retrieval-profile.ts'
import { ServiceError } from '#core/platform/errors.ts'
import type { PinnedRequest } from './pin.ts'
import type { Abstention } from './schema.ts'
import type { Evidence } from './search.ts'

/**
 * Decides `answer` iff a passage remains, no explicit reference is unsupported, and the observed value reaches the
 * threshold of the calibration that decides.
 * @throws ServiceError RETRIEVAL_UNAVAILABLE when the node sent other predictors than the profile was calibrated on.
 */
export function decide(pinned: PinnedRequest, evidence: Evidence): Abstention {
  const { predictors, unsupported, read, rewritten = false } = evidence
  const { calibration, signal } = decidingCalibration(pinned.profile.parameters, {
    rewritten,
    read: read !== undefined,
  })
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
    signal,
    threshold,
    observed_value: observedValue,
    unsupported_explicit_references: unsupported.map(({ text, normalized, reason }) => ({ text, normalized, reason })),
  }
}

/**
 * Refuses an abstention that a model which failed might have turned into an answer. The calibration of a mode without
 * it answers less, and what it abstains on is not known to lack evidence.
 * @throws ServiceError RETRIEVAL_UNAVAILABLE
 */
export function assertDecided(
  { decision }: Pick<Abstention, 'decision'>,
  ...models: readonly { readonly result: string | null }[]
): void {
  if (decision === 'abstain' && models.some(({ result }) => result === 'failed'))
    throw new ServiceError('RETRIEVAL_UNAVAILABLE', {
      cause: new Error('a model that the profile names failed, and without it nothing is answered'),
    })
}
