import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '#core/db/pool.ts'
import type { LimitEpoch } from '#core/db/limit-epochs.ts'
import type { ReservationInserted, ReservationWriter } from '#core/db/reservation-writer.ts'
import { RestoredError } from '#core/db/restores.ts'
import { findOriginal, type NewReservation, type OriginalRequest } from '#core/db/reservations.ts'
import type { PlanLimits } from '#core/domain/quota-plan.ts'
import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import { LIMIT_BOUNDS } from './bounds.ts'
import type { ChargeDecision, Counters, Usage } from './counters.ts'
import type { LimitEpochs } from './epochs.ts'
import type { Charge, Settlement } from './settlement.ts'

export interface AdmissionDeps {
  readonly database: Database
  readonly reservations: Pick<ReservationWriter, 'insert'>
  readonly counters: Pick<Counters, 'admit'>
  readonly epochs: LimitEpochs
  readonly settlement: Pick<Settlement, 'undo' | 'refundUncertain'>
}

type Fingerprinted = 'fingerprint' | 'fingerprintEpoch' | 'requestDigest'

/** A request before its admission; what the clock of Redis decides is added by it. */
export type Candidate = Omit<NewReservation, 'admittedAtMs' | 'deadlineAtMs' | Fingerprinted> & {
  readonly limits: PlanLimits
  readonly topK: number
  readonly corpusPassages: number
  readonly exposureAllowance: number
  /** Computed only for a charged request. */
  readonly fingerprint: () => Pick<NewReservation, Fingerprinted>
}

/** Why a request is refused; `conflict`: a request on record has the Idempotency-Key. */
export type Refusal =
  | { readonly reason: 'quota' | 'exposure' | 'rate' | 'concurrency' }
  | { readonly reason: 'conflict'; readonly original: OriginalRequest }

export type Admission =
  | { readonly status: 'admitted'; readonly charge: Charge; readonly decision: ChargeDecision }
  | { readonly status: 'refused'; readonly refusal: Refusal; readonly decision: ChargeDecision }

/** Awaits `work`, and counts the time until it is done as spent on a party. */
export type Timed = <T>(party: 'redis' | 'postgres', work: Promise<T>) => Promise<T>

/**
 * Charges all limits or none in Redis, then reserves in Postgres. Whatever fails in between is undone; where that fails
 * too, the lease goes overdue and the counters are rebuilt. A conflict is only ever a request that Postgres holds.
 * @throws where the limits cannot be decided.
 */
export async function admit(deps: AdmissionDeps, candidate: Candidate, timed: Timed): Promise<Admission> {
  const { organizationId, limits } = candidate
  const windowDays = limits.exposure.window_days
  const mayWaitUntilMs = performance.now() + LIMIT_BOUNDS.idempotencyWaitMs
  for (let [attempt, waits] = [1, 1]; attempt <= LIMIT_BOUNDS.admissionAttemptsMax;) {
    const epoch = await timed('postgres', deps.epochs.current(organizationId, windowDays))
    const askedAtMs = performance.now()
    const under = { ...deps, candidate, epoch, timed }
    const repair = (overdue: boolean) =>
      timed('postgres', deps.epochs.repair(organizationId, { epoch, windowDays, overdue }))
    const lookUp = () => timed('postgres', findOriginal(deps.database, candidate))
    const decision = await charge(under)
    switch (decision.status) {
      case 'admitted': {
        const admission = await reserve(under, decision)
        if (admission !== 'epoch') return admission
        await repair(false)
        await sleep(LIMIT_BOUNDS.admissionPauseMs * attempt++)
        break
      }
      case 'stale':
      case 'overdue':
        await repair(decision.status === 'overdue')
        attempt++
        break
      case 'held': {
        const original = await lookUp()
        if (original !== undefined) return conflict(original, decision)
        if (askedAtMs > mayWaitUntilMs) throw new Error('another request is being admitted under the same key')
        await sleep(Math.min(LIMIT_BOUNDS.admissionPauseMs * waits++, LIMIT_BOUNDS.idempotencyPauseMaxMs))
        break
      }
      default: {
        const original = decision.mayLookUp ? await lookUp() : undefined
        if (original !== undefined) return conflict(original, decision)
        return { status: 'refused', refusal: { reason: decision.status }, decision }
      }
    }
  }
  throw new Error('the epoch of the limit counters changed at every attempt')
}

function conflict(original: OriginalRequest, decision: ChargeDecision): Admission {
  return { status: 'refused', refusal: { reason: 'conflict', original }, decision }
}

interface Attempt extends AdmissionDeps {
  readonly candidate: Candidate
  /** In force when the attempt began. */
  readonly epoch: LimitEpoch
  readonly timed: Timed
}

/** If the reply of Redis is lost, the charge is undone in case it was made. */
async function charge(attempt: Attempt): Promise<ChargeDecision> {
  const { counters, candidate, epoch, timed } = attempt
  const [idempotencyDigest] = candidate.idempotencyDigests
  const request = { ...candidate, requestId: candidate.id, idempotencyDigest }
  try {
    return await timed('redis', counters.admit(candidate, epoch.id, request))
  } catch (error) {
    await undo(attempt)
    throw error
  }
}

/**
 * @returns "epoch" if the epoch changed meanwhile; the charge is undone then.
 * @throws RestoredError
 */
async function reserve(attempt: Attempt, decision: ChargeDecision): Promise<Admission | 'epoch'> {
  const { reservations, settlement, candidate, epoch, timed } = attempt
  let inserted: ReservationInserted
  try {
    const reservation = {
      ...candidate,
      ...candidate.fingerprint(),
      admittedAtMs: decision.nowMs,
      deadlineAtMs: decision.nowMs + PLATFORM_BOUNDS.hardDeadlineMs,
    }
    inserted = await timed('postgres', reservations.insert(reservation, epoch, decision.confirmed))
  } catch (error) {
    await undo(attempt)
    // The reservation may have been written although its answer was lost.
    settlement.refundUncertain(candidate.id)
    throw error
  }
  if (inserted.status === 'inserted') return { status: 'admitted', charge: chargeOf(candidate), decision }
  const usage = await undo(attempt)
  switch (inserted.status) {
    case 'epoch':
      return 'epoch'
    case 'restored':
      throw new RestoredError()
    case 'conflict':
      return conflict(inserted.original, { ...decision, ...usage })
    default:
      return inserted satisfies never
  }
}

function chargeOf(candidate: Candidate): Charge {
  const { organizationId, entitlementId, knowledgeBaseId, clientId, environment } = candidate
  return {
    scope: { organizationId, entitlementId, knowledgeBaseId, clientId, environment },
    requestId: candidate.id,
    idempotencyDigest: candidate.idempotencyDigests[0],
    reservedAtMs: performance.now(),
    settled: false,
    uncertain: undefined,
  }
}

async function undo({ settlement, candidate, epoch, timed }: Attempt): Promise<Usage | undefined> {
  return timed('redis', settlement.undo(chargeOf(candidate), epoch.id))
}
