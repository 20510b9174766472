import type { PlanLimits } from '#core/domain/quota-plan.ts'
import { isRateRefusal, isThrottleRefusal, reservationIdOf } from '../record.ts'
import type { RequestRecord } from '../record.ts'
import { periodOf } from '../truth.ts'
import type { Reservation } from '../truth.ts'
import { perTenant } from './check.ts'
import type { Check, TenantEvidence } from './check.ts'
import { mostAtOnce, occupancyOf } from './intervals.ts'
import type { Occupancy } from './intervals.ts'
import { firstChargedMs, mayHaveBeenUndone, perhapsLeased } from './leases.ts'

const MINUTE_MS = 60_000
const CUT_OFF_MS = 1

/** What may have stood in the way of a refused request; every number is at least the true one. */
export interface Room {
  /** Admissions of the 60 s before any instant of the request. */
  admitted(record: RequestRecord): number
  leases(record: RequestRecord): number
  /** Charged requests of the UTC day or month. */
  charged(record: RequestRecord, period: 'day' | 'month'): number
}

export function roomOf(evidence: TenantEvidence): Room {
  const { records } = evidence
  const reservations: ReadonlyMap<string, Reservation> = evidence.reservations ?? new Map()
  const byId = new Map(records.map((record) => [reservationIdOf(record), record]))
  const all = [...reservations.values()].map((reservation) => ({
    ...reservation,
    firstMs: firstChargedMs(reservation, byId.get(reservation.id)),
  }))
  const undone = records.filter(
    (record) => mayHaveBeenUndone(record) && !reservations.has(reservationIdOf(record) ?? ''),
  )
  const occupancy: Occupancy = occupancyOf(perhapsLeased(evidence))
  const span = ({ startedMs, endedMs, clockOffsetMs }: RequestRecord): { fromMs: number; toMs: number } => ({
    fromMs: startedMs + clockOffsetMs - CUT_OFF_MS,
    toMs: endedMs + clockOffsetMs + CUT_OFF_MS,
  })
  const beside = (record: RequestRecord): number =>
    undone.filter(({ startedMs, endedMs }) => startedMs <= record.endedMs && endedMs >= record.startedMs).length
  return {
    admitted: (record) => {
      const { fromMs, toMs } = span(record)
      return (
        beside(record) +
        all.filter(({ admittedAtMs, firstMs }) => admittedAtMs > fromMs - MINUTE_MS && firstMs <= toMs).length
      )
    },
    leases: (record) => {
      const { fromMs, toMs } = span(record)
      return mostAtOnce(occupancy, fromMs, toMs).most
    },
    charged: (record, period) => {
      const { fromMs, toMs } = span(record)
      const within = new Set([periodOf(period, fromMs), periodOf(period, toMs)])
      const counted = all.filter(({ id, state, admittedAtMs, firstMs }) => {
        if (firstMs > toMs || !within.has(periodOf(period, admittedAtMs))) return false
        // A refund is counted before its caller learns of it.
        const refund = state === 'refunded' ? byId.get(id) : undefined
        return refund?.outcome !== 'replied' || refund.endedMs >= record.startedMs
      })
      return beside(record) + counted.length
    },
  }
}

/** Why the refusal has no cause; undefined: it has one, or none can be excluded. */
function withoutCause(record: RequestRecord, limits: PlanLimits, room: Room): string | undefined {
  if (isRateRefusal(record)) {
    const rate = record.minuteQuota ?? limits.requests_per_minute
    const admitted = room.admitted(record)
    return admitted < rate ? `for the rate, although ${admitted} of ${rate} were admitted in 60 s` : undefined
  }
  if (record.code === 'QUOTA_EXHAUSTED') {
    const [day, month] = [room.charged(record, 'day'), room.charged(record, 'month')]
    return day < limits.requests_per_day && month < limits.requests_per_month
      ? `for the allowance, although ${day} of ${limits.requests_per_day} of the day and ${month} of ` +
          `${limits.requests_per_month} of the month were charged`
      : undefined
  }
  const leases = room.leases(record)
  return isThrottleRefusal(record) && leases < limits.concurrency
    ? `for the concurrency, although at most ${leases} of ${limits.concurrency} held a lease`
    : undefined
}

export const refusedWithRoom: Check = {
  name: 'refused-with-room',
  guarantee: 'A request is refused for a limit only where the limit is reached: allowances and rates are exact.',
  outside: 'no',
  find: (evidence) =>
    perTenant(evidence, (of, violated) => {
      const { limits } = of.tenant
      if (of.reservations === undefined || limits === undefined) return 0
      // The exposure refuses with the same reply; its own check judges tenants that can reach it.
      const refused = of.records.filter(
        (record) => isRateRefusal(record) || record.code === 'QUOTA_EXHAUSTED' || isThrottleRefusal(record),
      )
      const checked = refused.filter(
        (record) => !isThrottleRefusal(record) || !reachesExposure(limits, evidence.truth?.corpusPassages ?? 0),
      )
      const room = roomOf(of)
      for (const record of checked) {
        const cause = withoutCause(record, limits, room)
        if (cause !== undefined) violated(`request ${record.n} of "${record.phase}" was refused ${cause}`)
      }
      return checked.length
    }),
}

/** Whether so many passages can bring about any mark; each is at least its floor. */
function reachesExposure({ exposure: { floors } }: PlanLimits, corpusPassages: number): boolean {
  return Math.min(floors.corpus, floors.document) <= corpusPassages
}
