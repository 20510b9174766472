import { idempotencyDigests, queryFingerprint } from '#core/credentials/fingerprint.ts'
import { admit as admitRequest } from '#core/limits/admission.ts'
import type { AdmissionDeps, Candidate, Refusal } from '#core/limits/admission.ts'
import type { ChargeDecision } from '#core/limits/counters.ts'
import type { Charge } from '#core/limits/settlement.ts'
import { ServiceError, toServiceError } from '#core/platform/errors.ts'
import type { ServiceSecrets } from '#core/credentials/settings.ts'
import type { RequestContext } from './request-context.ts'
import { fingerprintKeyOf } from './fingerprint-key.ts'
import type { PinnedRequest } from './pin.ts'
import type { Windows } from './reply.ts'

export interface AdmitDeps extends AdmissionDeps {
  readonly serviceSecrets: ServiceSecrets
}

/** A charged and reserved request, which must end in `record` or in a refund. */
export interface Admitted {
  readonly status: 'admitted'
  readonly charge: Charge
  readonly windows: Windows
}

/** A request that is neither charged nor reserved; `windows` is set once the limits were evaluated. */
export interface Refused {
  readonly status: 'refused'
  readonly error: ServiceError
  readonly windows: Windows | undefined
}

/**
 * Charges all limits or none and reserves the request; see `core/limits/README.md`. Never rejects.
 * @returns a refusal with REQUEST_ALREADY_PROCESSED, QUOTA_EXHAUSTED, RATE_LIMITED, or INTERNAL_UNAVAILABLE when limits
 * cannot be decided.
 */
export async function admit(
  deps: AdmitDeps,
  context: RequestContext,
  pinned: PinnedRequest,
  idempotencyKey: string | undefined,
): Promise<Admitted | Refused> {
  try {
    const admission = await admitRequest(deps, candidateOf(deps, context, pinned, idempotencyKey), context.timings.wait)
    const windows = { pinned, decision: admission.decision }
    return admission.status === 'admitted'
      ? { status: 'admitted', charge: admission.charge, windows }
      : { status: 'refused', error: errorOf(admission.refusal, admission.decision), windows }
  } catch (thrown) {
    return { status: 'refused', error: toServiceError(thrown), windows: undefined }
  }
}

function candidateOf(
  deps: AdmitDeps,
  context: RequestContext,
  pinned: PinnedRequest,
  idempotencyKey: string | undefined,
): Candidate {
  return {
    ...pinned,
    id: context.requestId,
    traceId: context.traceId,
    versionId: pinned.profile.version_id,
    corpusPassages: pinned.profile.passages,
    idempotencyDigests:
      idempotencyKey === undefined
        ? []
        : idempotencyDigests(deps.serviceSecrets, pinned.clientId, pinned.environment, idempotencyKey),
    fingerprint: () => {
      const { key, epoch } = fingerprintKeyOf(deps.serviceSecrets, pinned)
      return { fingerprint: queryFingerprint(key, pinned.query), fingerprintEpoch: epoch }
    },
  }
}

function errorOf(refusal: Refusal, { retryAfterMs }: ChargeDecision): ServiceError {
  switch (refusal.reason) {
    case 'conflict':
      return new ServiceError('REQUEST_ALREADY_PROCESSED', { originalRequestId: `req_${refusal.originalRequestId}` })
    case 'quota':
      return new ServiceError('QUOTA_EXHAUSTED')
    case 'rate':
    case 'concurrency':
    case 'exposure':
      return new ServiceError('RATE_LIMITED', { retryAfterSeconds: retryAfterMs / 1_000 })
    default:
      return refusal satisfies never
  }
}
