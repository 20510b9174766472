import { expect, test } from 'vitest'
import type { ServedPassage } from '#core/domain/exposure.ts'
import {
  NOON_MS,
  checkedBy,
  craftEvidence,
  craftTenant,
  delivered,
  fromOutside,
  refunded,
  refused,
  violatedChecks,
} from './crafted-exchanges.ts'

test('a reply that breaks a rule of the contract violates catalogue', () => {
  const broken = delivered({ record: { faults: ['Cache-Control is no-store'] } })
  expect(violatedChecks(craftEvidence([broken]))).toEqual(['catalogue'])
  expect(violatedChecks(fromOutside(craftEvidence([broken])))).toEqual(['catalogue'])
})

test('a request without a reply violates answered, unless its gateway was killed or it was never sent', () => {
  const lost = delivered({ record: { outcome: 'lost', status: 0 } })
  expect(violatedChecks(craftEvidence([lost]))).toEqual(['answered'])
  expect(violatedChecks(craftEvidence([lost], { kills: [{ gateway: 0, atMs: NOON_MS + 50 }] }))).toEqual([])
  expect(violatedChecks(craftEvidence([lost], { kills: [{ gateway: 1, atMs: NOON_MS + 50 }] }))).toEqual(['answered'])
  const early = craftEvidence([lost], { kills: [{ gateway: 0, atMs: NOON_MS + 90_000 }] })
  expect(violatedChecks(early)).toEqual(['answered'])
  const unsent = { record: { ...lost.record, outcome: 'not sent' as const }, reservation: undefined }
  expect(checkedBy('answered', craftEvidence([unsent]))).toBe(0)
})

test('an unknown key that passes, and a known one that does not beside unknown ones, violate unknown-keys', () => {
  const unknown = refused('INVALID_API_KEY', { record: { unknownKey: true } })
  expect(violatedChecks(craftEvidence([unknown, delivered()]))).toEqual([])
  expect(violatedChecks(craftEvidence([delivered({ record: { unknownKey: true } })]))).toEqual(['unknown-keys'])
  expect(violatedChecks(craftEvidence([unknown, refused('INVALID_API_KEY')]))).toEqual(['unknown-keys'])
})

test('two charged requests with one Idempotency-Key violate idempotency', () => {
  const record = { idempotencyKey: 'key' }
  const first = delivered({ record })
  const conflict = refused('REQUEST_ALREADY_PROCESSED', {
    record: { ...record, originalRequestId: first.record.requestId },
  })
  expect(violatedChecks(craftEvidence([first, conflict]))).toEqual([])
  const second = delivered({ record })
  expect(violatedChecks(craftEvidence([first, second]))).toEqual(['idempotency'])
  expect(violatedChecks(fromOutside(craftEvidence([first, second])))).toEqual(['idempotency'])
  expect(violatedChecks(craftEvidence([refunded({ record, startMs: -500 }), first]))).toEqual([])
})

test('a conflict that names a request with another key violates idempotency', () => {
  const first = delivered({ record: { idempotencyKey: 'key' } })
  const other = delivered({ record: { idempotencyKey: 'other' } })
  const conflict = refused('REQUEST_ALREADY_PROCESSED', {
    record: { idempotencyKey: 'key', originalRequestId: other.record.requestId },
  })
  expect(violatedChecks(craftEvidence([first, other, conflict]))).toEqual(['idempotency'])
})

function passages(from: number, count: number, document = 'act'): readonly ServedPassage[] {
  return Array.from({ length: count }, (_, n) => ({
    chunk: `${document}-${from + n}`,
    document,
    total: 40,
  }))
}

const FLOORS = { corpus: 1, document: 1 }
const UNMARKED = { soft_share: 1, hard_share: 1, document_share: 1, floors: { ...FLOORS, document: 1_000 } }

test('a request that is served past a hard mark of corpus or document violates exposure-marks', () => {
  const served = delivered({ reservation: { served: passages(0, 20) } })
  const after = delivered({ startMs: 3_000, reservation: { served: passages(0, 1) } })
  for (const mark of [
    { hard_share: 0.2, soft_share: 0.2 },
    { document_share: 0.01, floors: { ...FLOORS, document: 20 } },
  ]) {
    const tenant = craftTenant({ exposure: { ...UNMARKED, ...mark } })
    expect(violatedChecks(craftEvidence([served, after], { tenant }))).toEqual(['exposure-marks'])
    // Sent before the passages were surely counted.
    for (const startMs of [50, 1_000])
      expect(violatedChecks(craftEvidence([served, delivered({ startMs })], { tenant }))).toEqual([])
  }
  const elsewhere = delivered({ startMs: 3_000, reservation: { served: passages(0, 1, 'other') } })
  const tenant = craftTenant({ exposure: { ...UNMARKED, document_share: 0.01, floors: { ...FLOORS, document: 20 } } })
  expect(violatedChecks(craftEvidence([served, elsewhere], { tenant }))).toEqual([])
})

test('past the soft mark a fifth of the rate is admitted in 60 s, and one more violates exposure-marks', () => {
  const tenant = craftTenant({ requests_per_minute: 10, exposure: { ...UNMARKED, soft_share: 0.2 } })
  const served = delivered({ reservation: { served: passages(0, 20) } })
  const [second, third] = [delivered({ startMs: 3_000 }), delivered({ startMs: 4_000 })]
  expect(violatedChecks(craftEvidence([served, second], { tenant }))).toEqual([])
  expect(violatedChecks(craftEvidence([served, second, third], { tenant }))).toEqual(['exposure-marks'])
})
