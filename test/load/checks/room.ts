import type { PlanLimits } from '#core/domain/quota-plan.ts'
import { isRateRefusal, isThrottleRefusal, type RequestRecord } from '../record.ts'
import { periodOf, type Period } from '../evidence.ts'
import { check, type TenantEvidence } from './check.ts'
import { mostAtOnce, occupancyOf } from './intervals.ts'
import { CUT_OFF_MS, firstChargedMs, perhapsLeased, perhapsUndone, recordsById } from './leases.ts'

const MINUTE_MS = 60_000

type Room = ReturnType<typeof roomOf>

/** What may have stood in the way of a refused request; every number is at least the true one. */
function roomOf(evidence: TenantEvidence) {
  const byId = recordsById(evidence)
  const all = [...evidence.reservations.values()].map((reservation) => ({
    ...reservation,
    firstMs: firstChargedMs(reservation, byId.get(reservation.id)),
  }))
  const undone = perhapsUndone(evidence)
  const occupancy = occupancyOf(perhapsLeased(evidence))
  const span = ({ startedMs, endedMs, clockOffsetMs }: RequestRecord): { fromMs: number; toMs: number } => ({
    fromMs: startedMs + clockOffsetMs - CUT_OFF_MS,
    toMs: endedMs + clockOffsetMs + CUT_OFF_MS,
  })
  const beside = (record: RequestRecord): number =>
    undone.filter(({ startedMs, endedMs }) => startedMs <= record.endedMs && endedMs >= record.startedMs).length
  return {
    /** Admissions of the 60 s before any instant of the request. */
    admitted: (record: RequestRecord) => {
      const { fromMs, toMs } = span(record)
      const own = all.filter(({ admittedAtMs, firstMs }) => admittedAtMs > fromMs - MINUTE_MS && firstMs <= toMs)
      return beside(record) + own.length
    },
    leases: (record: RequestRecord) => {
      const { fromMs, toMs } = span(record)
      return mostAtOnce(occupancy, fromMs, toMs).most
    },
    /** Charged requests of the UTC day or month. */
    charged: (record: RequestRecord, period: Period) => {
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

export const refusedWithRoom = check(
  'refused-with-room',
  'A request is refused for a limit only where the limit is reached: allowances and rates are exact.',
  (of, violated) => {
    const { limits } = of.tenant
    // The exposure refuses with the same reply; its own check judges tenants that can reach a mark, which is at least
    // its floor.
    const { floors } = limits.exposure
    const reachesExposure = Math.min(floors.corpus, floors.document) <= of.all.corpusPassages
    const refused = of.records.filter(
      (record) =>
        isRateRefusal(record) || record.code === 'QUOTA_EXHAUSTED' || (isThrottleRefusal(record) && !reachesExposure),
    )
    const room = roomOf(of)
    for (const record of refused) {
      const cause = withoutCause(record, limits, room)
      if (cause !== undefined) violated(`request ${record.n} of "${record.phase}" was refused ${cause}`)
    }
    return refused.length
  },
)

export const retryAfter = check(
  'retry-after',
  'After the time of Retry-After one more request is admitted, unless others took the place.',
  (of, violated) => {
    const { limits } = of.tenant
    const room = roomOf(of)
    let checked = 0
    for (const probe of of.records) {
      if (probe.probeOf === null || probe.outcome !== 'replied') continue
      const byRate = isRateRefusal(probe)
      const refused = byRate || isThrottleRefusal(probe)
      const rate = probe.minuteQuota ?? limits.requests_per_minute
      if (refused && (byRate ? room.admitted(probe) >= rate : room.leases(probe) >= limits.concurrency)) continue
      checked++
      if (refused) violated(`request ${probe.n} waited for the Retry-After of ${probe.probeOf} and was refused too`)
    }
    return checked
  },
)
