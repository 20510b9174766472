import { isRateRefusal, isThrottleRefusal } from '../record.ts'
import type { RequestRecord } from '../record.ts'
import { perTenant } from './check.ts'
import type { Check, TenantEvidence } from './check.ts'
import { roomOf } from './room.ts'

/** What others used of the limit when the probe was sent; without the records of the service, the replies show it. */
function tooManyOthers(of: TenantEvidence, probe: RequestRecord): boolean {
  const { tenant, records, reservations } = of
  const rate = probe.minuteQuota ?? tenant.limits?.requests_per_minute ?? Infinity
  const cap = tenant.concurrency ?? 1
  if (reservations !== undefined) {
    const room = roomOf(of)
    return isRateRefusal(probe) ? room.admitted(probe) >= rate : room.leases(probe) >= cap
  }
  const others = records.filter(({ n, status }) => n !== probe.n && status !== 429 && status !== 401)
  return isRateRefusal(probe)
    ? others.filter(({ endedMs }) => endedMs > probe.startedMs - 60_000).length >= rate
    : others.filter(({ startedMs, endedMs }) => startedMs <= probe.endedMs && endedMs >= probe.startedMs).length >= cap
}

export const retryAfter: Check = {
  name: 'retry-after',
  guarantee: 'After the time of Retry-After one more request is admitted, unless others took the place.',
  outside: 'whole',
  find: (evidence) =>
    perTenant(evidence, (of, violated) => {
      let checked = 0
      for (const probe of of.records) {
        if (probe.probeOf === null || probe.outcome !== 'replied') continue
        const refused = isRateRefusal(probe) || isThrottleRefusal(probe)
        if (refused && tooManyOthers(of, probe)) continue
        checked++
        if (refused) violated(`request ${probe.n} waited for the Retry-After of ${probe.probeOf} and was refused too`)
      }
      return checked
    }),
}
