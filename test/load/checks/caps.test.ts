import { expect, test } from 'vitest'
import { concurrencyCap, mostInMinute } from './caps.ts'
import {
  checkedBy,
  craftEvidence,
  craftTenant,
  delivered,
  fromOutside,
  refused,
  violatedChecks,
} from './crafted-exchanges.ts'
import type { Exchange } from './crafted-exchanges.ts'

function many(count: number, of: (n: number) => Exchange): readonly Exchange[] {
  return Array.from({ length: count }, (_, n) => of(n))
}

test('as many leases at once as the plan allows violate nothing, and one more violates concurrency-cap', () => {
  const tenant = craftTenant({ concurrency: 3 })
  expect(
    violatedChecks(
      craftEvidence(
        many(3, () => delivered()),
        { tenant },
      ),
    ),
  ).toEqual([])
  expect(
    violatedChecks(
      craftEvidence(
        many(4, () => delivered()),
        { tenant },
      ),
    ),
  ).toEqual(['concurrency-cap'])
})

test('a lease that begins as another ends does not overlap it', () => {
  const tenant = craftTenant({ concurrency: 1 })
  const first = delivered({ startMs: 0, endMs: 100 })
  const second = delivered({ startMs: 98, endMs: 200, reservation: {} })
  expect(violatedChecks(craftEvidence([first, second], { tenant }))).toEqual([])
})

test('a reservation without an outcome holds its lease until its deadline', () => {
  const tenant = craftTenant({ concurrency: 1 })
  const killed = delivered({
    record: { outcome: 'lost', status: 0 },
    reservation: { finishedAtMs: null, state: 'open', ledger: [] },
  })
  const during = craftEvidence([killed, delivered({ startMs: 19_000 })], { tenant })
  expect(concurrencyCap.find(during).violations).toHaveLength(1)
  const afterwards = craftEvidence([killed, delivered({ startMs: 20_100 })], { tenant })
  expect(concurrencyCap.find(afterwards).violations).toEqual([])
})

test('replies alone prove overlapping leases where they took longer than refusals', () => {
  const tenant = craftTenant({ concurrency: 2 })
  const answered = many(3, () => delivered({ endMs: 1_000 }))
  const evidence = fromOutside(craftEvidence([...answered, refused('RATE_LIMITED')], { tenant }))
  expect(violatedChecks(evidence)).toEqual(['concurrency-cap'])
  const slowRefusal = fromOutside(craftEvidence([...answered, refused('RATE_LIMITED', { endMs: 900 })], { tenant }))
  expect(violatedChecks(slowRefusal)).toEqual([])
})

test('one admission too many in any 60 s violates minute-rate, also across the edge of a minute', () => {
  const tenant = craftTenant({ requests_per_minute: 3 })
  const at = (...starts: readonly number[]): readonly Exchange[] => starts.map((startMs) => delivered({ startMs }))
  expect(violatedChecks(craftEvidence(at(0, 40_000, 59_000, 60_000), { tenant }))).toEqual([])
  expect(violatedChecks(craftEvidence(at(0, 40_000, 59_000, 59_999), { tenant }))).toEqual(['minute-rate'])
})

test('the most admissions of a minute are those of the fullest window, not of a minute of the clock', () => {
  expect(mostInMinute([0, 30_000, 59_999, 60_000, 89_000])).toEqual({ most: 4, endsAtMs: 89_000 })
  expect(mostInMinute([])).toEqual({ most: 0, endsAtMs: 0 })
})

test('replies of one minute that are more than the quota of their header violate minute-rate from outside', () => {
  const answered = many(4, (n) => delivered({ startMs: n * 1_000, record: { minuteQuota: 3 } }))
  expect(violatedChecks(fromOutside(craftEvidence(answered)))).toEqual(['minute-rate'])
  const spread = many(4, (n) => delivered({ startMs: n * 30_000, record: { minuteQuota: 3 } }))
  expect(violatedChecks(fromOutside(craftEvidence(spread)))).toEqual([])
})

test('a charged request past the allowance violates that of its period, and a refunded one does not count', () => {
  const day = craftTenant({ requests_per_day: 2 })
  expect(
    violatedChecks(
      craftEvidence(
        many(3, () => delivered()),
        { tenant: day },
      ),
    ),
  ).toContain('day-allowance')
  const nextDay = [delivered(), delivered(), delivered({ startMs: 12 * 3_600_000 })]
  expect(violatedChecks(craftEvidence(nextDay, { tenant: day }))).toEqual([])
  const month = craftTenant({ requests_per_month: 2, concurrency: 5 })
  const spread = many(3, (n) => delivered({ startMs: n * 86_400_000 }))
  expect(violatedChecks(craftEvidence(spread, { tenant: month }))).toEqual(['month-allowance'])
  const failed = delivered({
    record: { status: 503 },
    reservation: { state: 'refunded', ledger: [{ state: 'refunded', charged: false }] },
  })
  expect(
    violatedChecks(
      craftEvidence([delivered(), delivered(), failed], {
        tenant: craftTenant({ requests_per_day: 2, concurrency: 5 }),
      }),
    ),
  ).toEqual([])
})

test('nothing is checked where nothing was admitted', () => {
  const evidence = craftEvidence([refused('RATE_LIMITED', { record: { minuteLeft: 1 } })])
  for (const name of ['concurrency-cap', 'minute-rate', 'day-allowance', 'month-allowance'])
    expect(checkedBy(name, evidence), name).toBe(0)
})
