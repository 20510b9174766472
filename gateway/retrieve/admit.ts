import {
  idempotencyDigests,
  queryFingerprint,
  requestDigest,
  unwrapFingerprintKey,
} from '#core/credentials/fingerprint.ts'
import type { OriginalRequest } from '#core/db/reservations.ts'
import { admit as admitRequest, type AdmissionDeps, type Candidate, type Refusal } from '#core/limits/admission.ts'
import type { ChargeDecision } from '#core/limits/counters.ts'
import type { Charge } from '#core/limits/settlement.ts'
import { ServiceError, toServiceError } from '#core/platform/errors.ts'
import type { ServiceSecrets } from '#core/credentials/settings.ts'
import type { RequestContext } from './request-context.ts'
import { fingerprintKeyOf } from './fingerprint-key.ts'
import type { PinnedRequest } from './pin.ts'
import { UNDER_WAY, exposed } from './exposure.ts'
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
): Promise<Admitted | Refused> {
  try {
    const admission = await admitRequest(deps, candidateOf(deps, context, pinned), context.timings.wait)
    const windows = { pinned, decision: admission.decision }
    return admission.status === 'admitted'
      ? { status: 'admitted', charge: admission.charge, windows }
      : { status: 'refused', error: errorOf(deps, pinned, admission.refusal, admission.decision), windows }
  } catch (thrown) {
    return { status: 'refused', error: toServiceError(thrown), windows: undefined }
  }
}

function candidateOf(deps: AdmitDeps, context: RequestContext, pinned: PinnedRequest): Candidate {
  const { idempotencyKey } = context
  return {
    ...pinned,
    id: context.requestId,
    traceId: context.traceId,
    versionId: pinned.profile.version_id,
    projection: pinned.projection,
    corpusPassages: pinned.profile.passages,
    idempotencyDigests:
      idempotencyKey === undefined
        ? []
        : idempotencyDigests(deps.serviceSecrets, pinned.clientId, pinned.environment, idempotencyKey),
    fingerprint: () => {
      const { key, epoch } = fingerprintKeyOf(deps.serviceSecrets, pinned)
      return {
        fingerprint: queryFingerprint(key, pinned.query),
        fingerprintEpoch: epoch,
        requestDigest: idempotencyKey === undefined ? undefined : requestDigest(key, pinned.canonical),
      }
    },
  }
}

const REASONS = {
  rate: { path: '(plan)', message: 'the requests of the last 60 seconds are used up', reason: 'rate' },
  concurrency: UNDER_WAY,
  day: { path: '(plan)', message: 'the requests of this UTC day are used up', reason: 'day' },
  month: { path: '(plan)', message: 'the requests of this UTC month are used up', reason: 'month' },
  same: { path: '(body)', message: 'is the one that the key was first sent with', reason: 'same_body' },
  another: { path: '(body)', message: 'is another one than the key was first sent with', reason: 'another_body' },
} as const

function errorOf(
  deps: AdmitDeps,
  pinned: PinnedRequest,
  refusal: Refusal,
  { monthUsed, retryAfterMs, exposed: what }: ChargeDecision,
): ServiceError {
  switch (refusal.reason) {
    case 'conflict': {
      const same = hasSameBody(deps, pinned, refusal.original)
      return new ServiceError('REQUEST_ALREADY_PROCESSED', {
        originalRequestId: `req_${refusal.original.id}`,
        ...(same === undefined ? {} : { details: [same ? REASONS.same : REASONS.another] }),
      })
    }
    case 'quota':
      return new ServiceError('QUOTA_EXHAUSTED', {
        details: [monthUsed >= pinned.limits.requests_per_month ? REASONS.month : REASONS.day],
      })
    case 'rate':
    case 'concurrency':
    case 'exposure': {
      if (what !== undefined) return new ServiceError('RATE_LIMITED', exposed(what, retryAfterMs))
      const reason = refusal.reason === 'rate' ? REASONS.rate : REASONS.concurrency
      return new ServiceError('RATE_LIMITED', { retryAfterSeconds: retryAfterMs / 1_000, details: [reason] })
    }
    default:
      return refusal satisfies never
  }
}

/** @returns undefined where the digest or its key is not held any more. */
function hasSameBody(
  { serviceSecrets }: AdmitDeps,
  { organizationId, canonical }: PinnedRequest,
  { requestDigest: digest, fingerprintEpoch: epoch, wrapped }: OriginalRequest,
): boolean | undefined {
  if (digest === null || wrapped === null) return undefined
  const key = unwrapFingerprintKey(wrapped, { organizationId, epoch }, serviceSecrets)
  return digest.equals(requestDigest(key, canonical))
}
