import { periodOf, type Period } from '../evidence.ts'
import { check, type Check } from './check.ts'
import { mostAtOnce, occupancyOf } from './intervals.ts'
import { admittedFor, surelyLeased } from './leases.ts'

const MINUTE_MS = 60_000

export const concurrencyCap = check(
  'concurrency-cap',
  'No more requests of an entitlement hold a lease at once than its plan allows.',
  (evidence, violated) => {
    const { limits } = evidence.tenant
    const { most, atMs } = mostAtOnce(occupancyOf(surelyLeased(evidence)))
    if (most > limits.concurrency)
      violated(`${most} requests held a lease at once, at ${instant(atMs)}; the plan allows ${limits.concurrency}`)
    return most
  },
)

/** The most admissions in any sliding 60 s: an admission leaves the window exactly 60 s later. */
function mostInMinute(admittedMs: readonly number[]): { readonly most: number; readonly endsAtMs: number } {
  const sorted = admittedMs.toSorted((one, other) => one - other)
  let found = { most: 0, endsAtMs: 0 }
  for (let first = 0, last = 0; last < sorted.length; last++) {
    while ((sorted[first] ?? 0) <= (sorted[last] ?? 0) - MINUTE_MS) first++
    if (last - first + 1 > found.most) found = { most: last - first + 1, endsAtMs: sorted[last] ?? 0 }
  }
  return found
}

export const minuteRate = check(
  'minute-rate',
  'No more requests are admitted in any sliding 60 s than the plan allows.',
  (evidence, violated) => {
    const { most, endsAtMs } = mostInMinute(admittedFor(evidence).map(({ admittedAtMs }) => admittedAtMs))
    const rate = evidence.tenant.limits.requests_per_minute
    if (most > rate)
      violated(`${most} requests were admitted in the 60 s before ${instant(endsAtMs)}; the plan allows ${rate}`)
    return most
  },
)

const ALLOWANCES = { day: 'requests_per_day', month: 'requests_per_month' } as const

function allowance(period: Period): Check {
  return check(
    `${period}-allowance`,
    `No more requests are charged in a UTC ${period} than the plan allows.`,
    ({ tenant: { limits }, reservations }, violated) => {
      const allowed = limits[ALLOWANCES[period]]
      const charged = [...reservations.values()].filter(({ state }) => state !== 'refunded')
      for (const [when, of] of Map.groupBy(charged, ({ admittedAtMs }) => periodOf(period, admittedAtMs)))
        if (of.length > allowed) violated(`${of.length} requests were charged in ${when}; the plan allows ${allowed}`)
      return charged.length
    },
  )
}

export const dayAllowance = allowance('day')
export const monthAllowance = allowance('month')

function instant(ms: number): string {
  return new Date(ms).toISOString()
}
