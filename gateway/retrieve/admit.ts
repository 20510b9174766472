import { createSecretKey } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { BOUNDS } from '#core/platform/bounds.ts'
import type { Database } from '#core/db/pool.ts'
import type { ReservationInserted, ReservationWriter } from '#core/db/reservation-writer.ts'
import { findByIdempotency } from '#core/db/reservations.ts'
import { ServiceError, toServiceError } from '#core/platform/errors.ts'
import type { ServiceSecrets } from '#core/platform/settings.ts'
import { idempotencyDigests, queryFingerprint, unwrapFingerprintKey } from '#core/credentials/fingerprint.ts'
import type { LimitEpochs } from '#core/limits/epochs.ts'
import type { LimitScope } from '#core/limits/counter-keys.ts'
import type { AdmissionDecision, Limiter } from '#core/limits/limiter.ts'
import type { Exchange } from './exchange.ts'
import type { PinnedRequest } from './pin.ts'
import type { Windows } from './reply.ts'

export interface AdmitDeps {
  readonly database: Database
  readonly reservations: ReservationWriter
  readonly limiter: Limiter
  readonly epochs: LimitEpochs
  readonly serviceSecrets: ServiceSecrets
}

/** A charged and reserved request, which must end in `record` or in a refund. */
export interface Admitted {
  readonly status: 'admitted'
  readonly scope: LimitScope
  readonly windows: Windows
}

/** A request that is neither charged nor reserved; `windows` is set once the limits were evaluated. */
export interface Refused {
  readonly status: 'refused'
  readonly error: ServiceError
  readonly windows: Windows | undefined
}

export type Admission = Admitted | Refused

/**
 * Charges all limits or none in Redis, then reserves in Postgres. A conflict or failure there undoes the charge before
 * the refusal is returned. Never rejects.
 * @returns a refusal with REQUEST_ALREADY_PROCESSED, QUOTA_EXHAUSTED, RATE_LIMITED, or INTERNAL_UNAVAILABLE when limits
 * cannot be decided.
 */
export async function admit(
  deps: AdmitDeps,
  exchange: Exchange,
  pinned: PinnedRequest,
  idempotencyKey: string | undefined,
): Promise<Admission> {
  const { timings } = exchange
  let windows: Windows | undefined
  const refused = (error: unknown): Refused => ({ status: 'refused', error: toServiceError(error), windows })
  try {
    const digests = digestsOf(deps, pinned, idempotencyKey)
    const [digest] = digests
    const fingerprint = fingerprintOf(deps, pinned)
    for (let [attempt, waits] = [1, 0]; attempt <= BOUNDS.admissionAttemptsMax;) {
      const original =
        digest === undefined ? undefined : await timings.wait('postgres', findHolder(deps, pinned, digests))
      const scope = { ...pinned, epoch: await timings.wait('postgres', deps.epochs.current(pinned.organizationId)) }
      const decision = await chargeLimits(deps, exchange, pinned, scope, digest, original)
      if (decision.status === 'epoch') {
        await timings.wait('postgres', deps.epochs.rebuild(pinned.organizationId))
        attempt += 1
        continue
      }
      // The request that holds the key may still release it. It is reported as the original once it is recorded, or
      // after some waits.
      if (decision.status === 'conflict' && original === undefined && waits < BOUNDS.idempotencyWaitsMax) {
        waits += 1
        await sleep(BOUNDS.admissionPauseMs * waits, undefined, { signal: exchange.signal })
        continue
      }
      windows = { pinned, decision }
      if (decision.status !== 'admitted') return refused(refusalOf(decision))
      const reserved = await reserve(deps, exchange, pinned, { scope, digest, fingerprint, decision })
      if (reserved.status === 'inserted') return { status: 'admitted', scope, windows }
      await takeBack(deps, exchange, scope, digest)
      if (reserved.status === 'conflict') return refused(alreadyProcessed(reserved.originalRequestId))
      deps.epochs.forget(pinned.organizationId)
      await sleep(BOUNDS.admissionPauseMs * attempt)
      attempt += 1
    }
    return refused(new Error('the epoch of the limit counters changed at every attempt'))
  } catch (thrown) {
    return refused(thrown)
  }
}

/** The digest to store, then those of earlier secrets; empty without a key. */
function digestsOf(deps: AdmitDeps, pinned: PinnedRequest, idempotencyKey: string | undefined): readonly Buffer[] {
  return idempotencyKey === undefined
    ? []
    : idempotencyDigests(deps.serviceSecrets, pinned.clientId, pinned.environment, idempotencyKey)
}

async function findHolder(
  { database }: AdmitDeps,
  { clientId, environment }: PinnedRequest,
  digests: readonly Buffer[],
): Promise<string | undefined> {
  for (const digest of digests) {
    const holder = await findByIdempotency(database, clientId, environment, digest)
    if (holder !== undefined) return holder
  }
  return undefined
}

/**
 * If the reply of Redis is lost, the charge is undone in case it was made. Otherwise the caller's retry would conflict
 * with its own first attempt.
 */
async function chargeLimits(
  deps: AdmitDeps,
  exchange: Exchange,
  pinned: PinnedRequest,
  scope: LimitScope,
  digest: Buffer | undefined,
  original: string | undefined,
): Promise<AdmissionDecision> {
  const { requestId, timings } = exchange
  const request = {
    requestId,
    limits: pinned.limits,
    corpusPassages: pinned.profile.passages,
    idempotencyDigest: digest,
    originalRequestId: original,
  }
  try {
    return await timings.wait('redis', deps.limiter.admit(scope, request))
  } catch (error) {
    await takeBack(deps, exchange, scope, digest)
    throw error
  }
}

interface Charge {
  readonly scope: LimitScope
  readonly digest: Buffer | undefined
  readonly fingerprint: { readonly value: Buffer; readonly epoch: number }
  readonly decision: AdmissionDecision
}

async function reserve(
  deps: AdmitDeps,
  exchange: Exchange,
  pinned: PinnedRequest,
  charge: Charge,
): Promise<ReservationInserted> {
  const reservation = {
    ...pinned,
    id: exchange.requestId,
    traceId: exchange.traceId,
    versionId: pinned.profile.version_id,
    profileId: pinned.profile.id,
    idempotencyDigest: charge.digest ?? null,
    fingerprint: charge.fingerprint.value,
    fingerprintEpoch: charge.fingerprint.epoch,
    admittedAtMs: charge.decision.nowMs,
    deadlineAtMs: charge.decision.nowMs + BOUNDS.hardDeadlineMs,
  }
  try {
    return await exchange.timings.wait('postgres', deps.reservations.insert(reservation, charge.scope.epoch))
  } catch (error) {
    await takeBack(deps, exchange, charge.scope, charge.digest)
    throw error
  }
}

/**
 * If a charge cannot be undone, the organization's counters may be wrong; they are rebuilt before the next admission.
 */
async function takeBack(
  deps: AdmitDeps,
  exchange: Exchange,
  scope: LimitScope,
  digest: Buffer | undefined,
): Promise<void> {
  try {
    await exchange.timings.wait('redis', deps.limiter.undo(scope, exchange.requestId, digest))
  } catch {
    deps.epochs.invalidate(scope.organizationId)
  }
}

function alreadyProcessed(originalRequestId: string): ServiceError {
  return new ServiceError('REQUEST_ALREADY_PROCESSED', { originalRequestId: `req_${originalRequestId}` })
}

function refusalOf(decision: AdmissionDecision): ServiceError {
  const retryAfterSeconds = decision.retryAfterMs / 1_000
  switch (decision.status) {
    case 'conflict':
      return alreadyProcessed(decision.originalRequestId)
    case 'quota':
      return new ServiceError('QUOTA_EXHAUSTED')
    case 'rate':
    case 'concurrency':
    case 'exposure':
      return new ServiceError('RATE_LIMITED', { retryAfterSeconds })
    case 'admitted':
    case 'epoch':
      return new ServiceError('INTERNAL_UNAVAILABLE')
    default:
      return decision.status satisfies never
  }
}

/** Unwrapped keys; each lives as long as the access entry that carries it. */
const unwrapped = new WeakMap<Buffer, KeyObject>()

/**
 * Computes the query's fingerprint with the organization's key. Without a key nothing can be metered, so nothing is
 * admitted.
 */
function fingerprintOf(deps: AdmitDeps, pinned: PinnedRequest): Charge['fingerprint'] {
  const { fingerprintKey, organizationId } = pinned
  if (fingerprintKey === undefined)
    throw new ServiceError('INTERNAL_UNAVAILABLE', {
      cause: new Error('the organization has no fingerprint key: run "operator fingerprints rotate"'),
    })
  const { wrapped, epoch } = fingerprintKey
  const key =
    unwrapped.get(wrapped) ??
    createSecretKey(unwrapFingerprintKey(wrapped, { organizationId, epoch }, deps.serviceSecrets))
  unwrapped.set(wrapped, key)
  return { value: queryFingerprint(key, pinned.query), epoch }
}
