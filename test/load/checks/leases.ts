import { reservationIdOf, type RequestRecord } from '../record.ts'
import type { Reservation } from '../evidence.ts'
import type { TenantEvidence } from './check.ts'
import type { Interval } from './intervals.ts'

/** Instants of Redis and of the generator are whole milliseconds, cut off. */
export const CUT_OFF_MS = 1
const UNAVAILABLE = 'INTERNAL_UNAVAILABLE'

/**
 * Reservations that count: a gateway takes a charge back where Postgres does not say that it kept the reservation, which
 * the sweeper then refunds.
 */
export function admittedFor(evidence: TenantEvidence): readonly Reservation[] {
  const byId = recordsById(evidence)
  return [...evidence.reservations.values()].filter(({ id, state, finishedAtMs }) => {
    const record = byId.get(id)
    const isTakenBack = state === 'refunded' && record?.code === UNAVAILABLE
    return !isTakenBack || (finishedAtMs ?? Infinity) <= record.endedMs + record.clockOffsetMs + CUT_OFF_MS
  })
}

/**
 * When each request surely held its lease. Redis ends it after Postgres has the outcome; a lease without an outcome
 * lasts until its deadline. So the number at once is never too high.
 */
export function surelyLeased(evidence: TenantEvidence): readonly Interval[] {
  return admittedFor(evidence).map(({ admittedAtMs, finishedAtMs, deadlineAtMs }) => ({
    fromMs: admittedAtMs + CUT_OFF_MS,
    toMs: Math.min(finishedAtMs ?? deadlineAtMs, deadlineAtMs),
  }))
}

/**
 * When each request may have held a lease, so that the number at once is never too low. The lease ends before the reply
 * is sent; without a reply, or where the sweeper settled it later, or where Postgres did not say that it has the
 * outcome, it may last until its deadline. A charge that was undone may have lasted as long as its request.
 */
export function perhapsLeased(evidence: TenantEvidence): readonly Interval[] {
  const byId = recordsById(evidence)
  const reserved = [...evidence.reservations.values()].map((reservation) => {
    const record = byId.get(reservation.id)
    const repliedMs = record?.outcome === 'replied' ? record.endedMs + record.clockOffsetMs : undefined
    const finishedMs = record?.code === UNAVAILABLE ? Infinity : (reservation.finishedAtMs ?? Infinity)
    const isSettled = finishedMs <= (record?.endedMs ?? 0) + CUT_OFF_MS
    const endMs = repliedMs !== undefined && isSettled ? repliedMs : reservation.deadlineAtMs
    return { fromMs: firstChargedMs(reservation, record), toMs: endMs + CUT_OFF_MS }
  })
  const undone = perhapsUndone(evidence).map(({ startedMs, endedMs, clockOffsetMs }) => ({
    fromMs: startedMs + clockOffsetMs,
    toMs: endedMs + clockOffsetMs + CUT_OFF_MS,
  }))
  return [...reserved, ...undone]
}

export function recordsById({ records }: TenantEvidence): ReadonlyMap<string, RequestRecord> {
  return new Map(records.map((record) => [reservationIdOf(record), record]))
}

/**
 * The earliest instant at which a request may have been charged. While the counters move to another epoch, a request is
 * charged, taken back and charged again; its reservation knows the last time only.
 */
export function firstChargedMs({ admittedAtMs }: Reservation, record: RequestRecord | undefined): number {
  return record === undefined ? admittedAtMs : Math.min(admittedAtMs, record.startedMs + record.clockOffsetMs)
}

/** Charged in Redis, perhaps, and taken back: a used Idempotency-Key, or a store that did not answer. */
export function perhapsUndone({ records, reservations }: TenantEvidence): readonly RequestRecord[] {
  return records.filter(
    (record) =>
      (record.status === 409 || record.status === 503 || record.outcome === 'lost' || record.outcome === 'hung up') &&
      !reservations.has(reservationIdOf(record)),
  )
}
