import { reservationIdOf } from '../record.ts'
import type { RequestRecord } from '../record.ts'
import type { Reservation } from '../truth.ts'
import type { TenantEvidence } from './check.ts'
import type { Interval } from './intervals.ts'

/** Instants of Redis and of the generator are whole milliseconds, cut off. */
const CUT_OFF_MS = 1

/**
 * When each request surely held its lease. Redis ends it after Postgres has the outcome; a lease without an outcome
 * lasts until its deadline. So the number at once is never too high.
 */
export function surelyLeased(reservations: Iterable<Reservation>): readonly Interval[] {
  return [...reservations].map(({ admittedAtMs, finishedAtMs, deadlineAtMs }) => ({
    fromMs: admittedAtMs + CUT_OFF_MS,
    toMs: Math.min(finishedAtMs ?? deadlineAtMs, deadlineAtMs),
  }))
}

/**
 * When each request may have held a lease, so that the number at once is never too low. The lease ends before the reply
 * is sent; without a reply it may last until its deadline. A charge that was undone may have lasted as long as its
 * request.
 */
export function perhapsLeased({ records, ...evidence }: TenantEvidence): readonly Interval[] {
  const reservations: ReadonlyMap<string, Reservation> = evidence.reservations ?? new Map()
  const byId = new Map(records.map((record) => [reservationIdOf(record), record]))
  const reserved = [...reservations.values()].map((reservation) => ({
    fromMs: firstChargedMs(reservation, byId.get(reservation.id)),
    toMs: wallEndOf(byId.get(reservation.id)) ?? reservation.deadlineAtMs + CUT_OFF_MS,
  }))
  const undone = records
    .filter((record) => mayHaveBeenUndone(record) && !reservations.has(reservationIdOf(record) ?? ''))
    .map((record) => ({
      fromMs: record.startedMs + record.clockOffsetMs,
      toMs: record.endedMs + record.clockOffsetMs + CUT_OFF_MS,
    }))
  return [...reserved, ...undone]
}

/**
 * The earliest instant at which a request may have been charged. While the counters move to another epoch, a request is
 * charged, taken back and charged again; its reservation knows the last time only.
 */
export function firstChargedMs({ admittedAtMs }: Reservation, record: RequestRecord | undefined): number {
  return record === undefined ? admittedAtMs : Math.min(admittedAtMs, record.startedMs + record.clockOffsetMs)
}

function wallEndOf(record: RequestRecord | undefined): number | undefined {
  return record?.outcome === 'replied' ? record.endedMs + record.clockOffsetMs + CUT_OFF_MS : undefined
}

/** Charged in Redis, perhaps, and taken back: a used Idempotency-Key, or a store that did not answer. */
export function mayHaveBeenUndone({ status, outcome }: RequestRecord): boolean {
  return status === 409 || status === 503 || outcome === 'lost' || outcome === 'hung up'
}

/**
 * When requests surely held a lease, as far as replies show. What is not the lease (the way there, the checks before
 * it, the way back) takes no longer than the slowest refusal of the same phase. The rest lies somewhere between start
 * and end; where it is longer than half of that, its middle is certain.
 */
export function leasedAsSeen(records: readonly RequestRecord[]): readonly Interval[] {
  return [...Map.groupBy(records, ({ phase }) => phase).values()].flatMap((phase) => {
    const refusals = phase.filter(({ status }) => status === 429)
    if (refusals.length === 0) return []
    const beside = Math.max(...refusals.map(({ endedMs, startedMs }) => endedMs - startedMs)) + CUT_OFF_MS
    return phase
      .filter(({ status }) => status === 200)
      .map(({ startedMs, endedMs }) => {
        const heldMs = endedMs - startedMs - beside
        return { fromMs: endedMs - heldMs, toMs: startedMs + heldMs }
      })
      .filter(({ fromMs, toMs }) => toMs > fromMs)
  })
}
