import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { craftEvidence, craftTenant, delivered, refunded, refused, violatedChecks } from './crafted-exchanges.ts'
import type { Exchange } from './crafted-exchanges.ts'

const usual = [delivered(), refunded({ startMs: 200 }), refused('INVALID_API_KEY', { record: { unknownKey: true } })]

function violatedBy(...exchanges: readonly Exchange[]): readonly string[] {
  return violatedChecks(craftEvidence(exchanges))
}

test('a right service violates nothing', () => {
  expect(violatedBy(...usual)).toEqual([])
})

test('a reply with status 200 that is not charged, or charged twice, violates charged-once', () => {
  const without = { ...delivered(), reservation: undefined }
  expect(violatedBy(without)).toEqual(['charged-once'])
  const failed = delivered({ reservation: { state: 'failed', ledger: [{ state: 'failed', charged: true }] } })
  expect(violatedBy(failed)).toEqual(['charged-once'])
  const twice = delivered({
    reservation: {
      ledger: [
        { state: 'delivered', charged: true },
        { state: 'delivered', charged: true },
      ],
    },
  })
  expect(violatedBy(twice)).toEqual(['charged-once', 'ledger-row'])
  const one = delivered()
  expect(violatedBy(one, { record: { ...one.record, n: -1 }, reservation: undefined })).toEqual(['charged-once'])
})

test('a refused request that has a reservation violates refused-free', () => {
  const charged = delivered({ record: { status: 403, code: 'FILTER_FORBIDDEN' } })
  expect(violatedBy(charged)).toEqual(['refused-free'])
})

test('a request that is answered with 503 and stays charged violates unavailable-refunded, except past the cap', () => {
  const lost = refunded({ reservation: { state: 'failed', ledger: [{ state: 'failed', charged: true }] } })
  expect(violatedBy(lost)).toEqual(['unavailable-refunded'])
  const tenant = craftTenant({ requests_per_day: 1, concurrency: 5 })
  expect(violatedChecks(craftEvidence([refunded({ startMs: -500 }), lost], { tenant }))).toEqual([])
})

test('a reservation with no ledger entry, or one that disagrees, violates ledger-row', () => {
  expect(violatedBy(delivered({ reservation: { ledger: [] } }))).toEqual(['ledger-row'])
  const uncharged = delivered({ reservation: { ledger: [{ state: 'delivered', charged: false }] } })
  expect(violatedBy(uncharged)).toEqual(['ledger-row'])
  expect(violatedBy(refunded({ reservation: { ledger: [{ state: 'delivered', charged: true }] } }))).toEqual([
    'ledger-row',
  ])
})

test('a reservation of no request violates asked-for, unless a request without a reply may be its own', () => {
  const unasked = { ...delivered().reservation, id: randomUUID() }
  const [exchange] = [delivered({ startMs: 500 })]
  const other = delivered({ reservation: unasked, record: { status: 401, code: 'INVALID_API_KEY', unknownKey: true } })
  expect(violatedBy(exchange, other)).toEqual(['asked-for'])
  const silent = delivered({ reservation: unasked, record: { outcome: 'hung up', status: 0, requestId: null } })
  expect(violatedBy(exchange, silent)).toEqual([])
})

test('a lease that is left, and a reservation that stays open, violate leases-end', () => {
  const evidence = craftEvidence(usual)
  const { truth } = evidence
  const left = truth?.counters.map((counters) => ({ ...counters, leases: 1 })) ?? []
  expect(violatedChecks({ ...evidence, truth: truth && { ...truth, counters: left } })).toEqual(['leases-end'])
  const open = delivered({ record: { outcome: 'hung up', status: 0 }, reservation: { state: 'open' } })
  expect(violatedBy(open)).toContain('leases-end')
})

test('counters of Redis that differ from the reservations violate counters-agree', () => {
  const evidence = craftEvidence(usual)
  const { truth } = evidence
  for (const by of [-1, 1]) {
    const counters = truth?.counters.map((one) => ({
      ...one,
      counts: Object.fromEntries(Object.entries(one.counts).map(([name, count]) => [name, count + by])),
    }))
    expect(violatedChecks({ ...evidence, truth: truth && { ...truth, counters: counters ?? [] } })).toEqual([
      'counters-agree',
    ])
  }
})
