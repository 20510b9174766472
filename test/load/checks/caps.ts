import { periodOf } from '../truth.ts'
import type { Period } from '../truth.ts'
import { perTenant } from './check.ts'
import type { Check, TenantEvidence } from './check.ts'
import { mostAtOnce, occupancyOf } from './intervals.ts'
import { leasedAsSeen, surelyLeased } from './leases.ts'

const MINUTE_MS = 60_000

/** The most requests that surely held a lease at once. */
function mostLeased({ records, reservations }: TenantEvidence): {
  readonly most: number
  readonly atMs: number
} {
  const intervals = reservations === undefined ? leasedAsSeen(records) : surelyLeased(reservations.values())
  return mostAtOnce(occupancyOf(intervals))
}

export const concurrencyCap: Check = {
  name: 'concurrency-cap',
  guarantee: 'No more requests of an entitlement hold a lease at once than its plan allows.',
  outside: 'partly',
  find: (evidence) =>
    perTenant(evidence, (of, violated) => {
      const cap = of.tenant.concurrency
      const { most, atMs } = mostLeased(of)
      if (cap === undefined || most === 0) return 0
      if (most > cap) violated(`${most} requests held a lease at once, at ${instant(atMs)}; the plan allows ${cap}`)
      return most
    }),
}

/** The most admissions in any sliding 60 s: an admission leaves the window exactly 60 s later. */
export function mostInMinute(admittedMs: readonly number[]): { readonly most: number; readonly endsAtMs: number } {
  const sorted = admittedMs.toSorted((one, other) => one - other)
  let found = { most: 0, endsAtMs: 0 }
  for (let first = 0, last = 0; last < sorted.length; last++) {
    while ((sorted[first] ?? 0) <= (sorted[last] ?? 0) - MINUTE_MS) first++
    if (last - first + 1 > found.most) found = { most: last - first + 1, endsAtMs: sorted[last] ?? 0 }
  }
  return found
}

/** The most replies of one window: a request counts where it lies in it whole. */
function mostSeenInMinute({ records }: TenantEvidence): { readonly most: number; readonly endsAtMs: number } {
  const answered = records.filter(({ status }) => status === 200)
  let found = { most: 0, endsAtMs: 0 }
  for (const { startedMs } of answered) {
    const endsAtMs = startedMs + MINUTE_MS
    const most = answered.filter((one) => one.startedMs >= startedMs && one.endedMs < endsAtMs).length
    if (most > found.most) found = { most, endsAtMs }
  }
  return found
}

export const minuteRate: Check = {
  name: 'minute-rate',
  guarantee: 'No more requests are admitted in any sliding 60 s than the plan allows.',
  outside: 'partly',
  find: (evidence) =>
    perTenant(evidence, (of, violated) => {
      const { tenant, records, reservations } = of
      const seen = records.map(({ minuteQuota }) => minuteQuota ?? 0)
      const rate = tenant.limits?.requests_per_minute ?? (Math.max(0, ...seen) || undefined)
      const { most, endsAtMs } =
        reservations === undefined
          ? mostSeenInMinute(of)
          : mostInMinute([...reservations.values()].map(({ admittedAtMs }) => admittedAtMs))
      if (rate === undefined || most === 0) return 0
      if (most > rate)
        violated(`${most} requests were admitted in the 60 s before ${instant(endsAtMs)}; the plan allows ${rate}`)
      return most
    }),
}

const ALLOWANCES = { day: 'requests_per_day', month: 'requests_per_month' } as const

function allowance(period: Period): Check {
  const name = `${period}-allowance`
  return {
    name,
    guarantee: `No more requests are charged in a UTC ${period} than the plan allows.`,
    outside: 'partly',
    find: (evidence) =>
      perTenant(evidence, ({ tenant, records, reservations }, violated) => {
        const quotas = records.map((record) => (period === 'day' ? record.dayQuota : record.monthQuota) ?? 0)
        const allowed = tenant.limits?.[ALLOWANCES[period]] ?? (Math.max(0, ...quotas) || undefined)
        const charged =
          reservations === undefined
            ? records.filter(({ status }) => status === 200).map(({ endedMs }) => endedMs)
            : [...reservations.values()]
                .filter(({ state }) => state !== 'refunded')
                .map(({ admittedAtMs }) => admittedAtMs)
        if (allowed === undefined) return 0
        for (const [when, requests] of Map.groupBy(charged, (ms) => periodOf(period, ms)))
          if (requests.length > allowed)
            violated(`${requests.length} requests were charged in ${when}; the plan allows ${allowed}`)
        return charged.length
      }),
  }
}

export const dayAllowance = allowance('day')
export const monthAllowance = allowance('month')

function instant(ms: number): string {
  return new Date(ms).toISOString()
}
