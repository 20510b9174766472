import { expect, test } from 'vitest'
import {
  NOON_MS,
  checkedBy,
  craftEvidence,
  craftTenant,
  delivered,
  refunded,
  refused,
  violatedChecks,
} from './crafted-exchanges.ts'

const RATE = { record: { minuteLeft: 0, minuteQuota: 3 } }

test('a refusal for the rate needs a full minute before it', () => {
  const tenant = craftTenant({ requests_per_minute: 3, concurrency: 10 })
  const admitted = [0, 100, 200].map((startMs) => delivered({ startMs }))
  const full = craftEvidence([...admitted, refused('RATE_LIMITED', { startMs: 300, ...RATE })], { tenant })
  expect(violatedChecks(full)).toEqual([])
  expect(checkedBy('refused-with-room', full)).toBe(1)
  const late = craftEvidence([...admitted, refused('RATE_LIMITED', { startMs: 60_150, ...RATE })], { tenant })
  expect(violatedChecks(late)).toEqual(['refused-with-room'])
})

test('a refunded request keeps its slot of the minute', () => {
  const tenant = craftTenant({ requests_per_minute: 3, concurrency: 10 })
  const admitted = [delivered(), delivered(), refunded()]
  expect(
    violatedChecks(craftEvidence([...admitted, refused('RATE_LIMITED', { startMs: 300, ...RATE })], { tenant })),
  ).toEqual([])
})

test('a refusal for the concurrency needs as many leases as the plan allows', () => {
  const tenant = craftTenant({ concurrency: 2 })
  const held = [delivered({ endMs: 1_000 }), delivered({ endMs: 1_000 })]
  const during = refused('RATE_LIMITED', { startMs: 500 })
  expect(violatedChecks(craftEvidence([...held, during], { tenant }))).toEqual([])
  const afterwards = refused('RATE_LIMITED', { startMs: 1_500 })
  expect(violatedChecks(craftEvidence([...held, afterwards], { tenant }))).toEqual(['refused-with-room'])
})

test('a caller who hung up holds a lease for as long as the work may last', () => {
  const tenant = craftTenant({ concurrency: 1 })
  const left = delivered({ endMs: 50, record: { outcome: 'hung up', status: 0, requestId: null } })
  const evidence = craftEvidence([left, refused('RATE_LIMITED', { startMs: 5_000 })], { tenant })
  expect(violatedChecks(evidence)).toEqual([])
})

test('a charge that may have been undone excuses a refusal while its request lasts', () => {
  const tenant = craftTenant({ concurrency: 1 })
  const original = delivered({ startMs: -1_000 })
  const conflict = refused('REQUEST_ALREADY_PROCESSED', {
    endMs: 100,
    record: { originalRequestId: original.record.requestId },
  })
  const refusal = refused('RATE_LIMITED', { startMs: 50 })
  expect(violatedChecks(craftEvidence([original, conflict, refusal], { tenant }))).toEqual([])
  expect(violatedChecks(craftEvidence([original, refusal], { tenant }))).toEqual(['refused-with-room'])
})

test('a refusal for the allowance needs a day or a month that is used up', () => {
  const tenant = craftTenant({ requests_per_day: 2, concurrency: 10 })
  const usedUp = refused('QUOTA_EXHAUSTED', { startMs: 300 })
  expect(violatedChecks(craftEvidence([delivered(), delivered(), usedUp], { tenant }))).toEqual([])
  expect(violatedChecks(craftEvidence([delivered(), usedUp], { tenant }))).toEqual(['refused-with-room'])
})

test('a refund gives the allowance back before its caller learns of it', () => {
  const tenant = craftTenant({ requests_per_day: 2, concurrency: 10 })
  const usedUp = refused('QUOTA_EXHAUSTED', { startMs: 300 })
  const early = refunded({ startMs: 0, endMs: 100 })
  expect(violatedChecks(craftEvidence([delivered(), early, usedUp], { tenant }))).toEqual(['refused-with-room'])
  const late = refunded({ startMs: 0, endMs: 301 })
  expect(violatedChecks(craftEvidence([delivered(), late, usedUp], { tenant }))).toEqual([])
})

test('a probe that is refused although there is room violates retry-after', () => {
  const tenant = craftTenant({ concurrency: 1 })
  const held = delivered({ endMs: 900 })
  const first = refused('RATE_LIMITED', { startMs: 100 })
  const probe = refused('RATE_LIMITED', { startMs: 1_105, record: { probeOf: first.record.n } })
  expect(violatedChecks(craftEvidence([held, first, probe], { tenant }))).toContain('retry-after')
  const others = delivered({ startMs: 1_000, endMs: 2_000 })
  const excused = craftEvidence([held, first, others, probe], { tenant })
  expect(violatedChecks(excused)).toEqual([])
  expect(checkedBy('retry-after', excused)).toBe(0)
  const admitted = delivered({ startMs: 1_105, record: { probeOf: first.record.n } })
  expect(checkedBy('retry-after', craftEvidence([held, first, admitted], { tenant }))).toBe(1)
})

test('a request that was charged again under another epoch excuses a refusal from its start on', () => {
  const tenant = craftTenant({ concurrency: 1 })
  const again = delivered({ endMs: 500, reservation: { admittedAtMs: NOON_MS + 400 } })
  const refusal = refused('RATE_LIMITED', { startMs: 100 })
  expect(violatedChecks(craftEvidence([again, refusal], { tenant }))).toEqual([])
})
