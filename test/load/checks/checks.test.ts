import { expect, test } from 'vitest'
import type { ServedPassage } from '#core/domain/exposure.ts'
import { NOON_MS, craftEvidence, delivered, refunded, refused, violatedChecks, type Exchange } from './crafted.ts'

/** Violations that no planted fault of `test/load/run.test.ts` brings about. */
type Case = readonly [what: string, limits: object, exchanges: readonly Exchange[], violated: readonly string[]]

const charge = { state: 'delivered', charged: true }
const failed = { state: 'failed', ledger: [{ state: 'failed', charged: true }] } as const
const unknown = { status: 401, code: 'INVALID_API_KEY', unknownKey: true }
const silent = { outcome: 'hung up', status: 0, requestId: null } as const
const usual = [delivered(), refunded({ startMs: 200 }), refused('INVALID_API_KEY', { record: unknown })]
const one = delivered()
const ofNoRequest = { id: '00000000-0000-4000-8000-000000000000' }

const CHARGES: readonly Case[] = [
  ['a right service', {}, usual, []],
  ['a 200 that is not charged', {}, [{ ...one, reservation: undefined }], ['charged-once']],
  ['a 200 that failed on record', {}, [delivered({ reservation: failed })], ['charged-once']],
  ['two charges', {}, [delivered({ reservation: { ledger: [charge, charge] } })], ['charged-once', 'ledger-row']],
  ['one id twice', {}, [one, { record: { ...one.record, n: -1 }, reservation: undefined }], ['charged-once']],
  ['a charged refusal', {}, [delivered({ record: { status: 403, code: 'FILTER_FORBIDDEN' } })], ['refused-free']],
  ['no request', {}, [one, delivered({ reservation: ofNoRequest, record: unknown })], ['asked-for']],
  ['no request but a silent one', {}, [one, delivered({ reservation: ofNoRequest, record: silent })], []],
]

const at = (...starts: readonly number[]): readonly Exchange[] => starts.map((startMs) => delivered({ startMs }))
const DAY_MS = 86_400_000

const unsaid = { record: { code: 'INTERNAL_UNAVAILABLE' } }
const takenBack = refunded({ ...unsaid, reservation: { finishedAtMs: NOON_MS + 20_100 } })
const throttled = refused('RATE_LIMITED', { startMs: 300 })
const two = { concurrency: 1, requests_per_minute: 2 }

const CAPS: readonly Case[] = [
  ['a charge taken back whose reservation Postgres kept', two, [takenBack, ...at(200, 400)], []],
  ['charges that nobody took back', two, [...at(0, 50), ...at(200, 400)], ['concurrency-cap', 'minute-rate']],
  ['a lease whose end Postgres did not say', { concurrency: 1 }, [refunded(unsaid), throttled], []],
  ['a lease that ended', { concurrency: 1 }, [refunded(), throttled], ['refused-with-room']],
  ['the rate over the edge of a minute', { requests_per_minute: 3 }, at(0, 40_000, 59_000, 60_000), []],
  ['one admission more', { requests_per_minute: 3 }, at(0, 40_000, 59_000, 59_999), ['minute-rate']],
  ['one charge more in a day', { requests_per_day: 2 }, at(0, 200, 400), ['day-allowance']],
  ['charges of two days, and a refund', { requests_per_day: 2 }, [...at(0, 200, DAY_MS / 2), refunded()], []],
  [
    'a day with room',
    { requests_per_day: 2 },
    [delivered(), refused('QUOTA_EXHAUSTED', { startMs: 300 })],
    ['refused-with-room'],
  ],
  ['one charge more in a month', { requests_per_month: 2 }, at(0, DAY_MS, 2 * DAY_MS), ['month-allowance']],
]

const passages = (count: number): readonly ServedPassage[] =>
  Array.from({ length: count }, (_, n) => ({ chunk: `act-${n}`, document: 'act', total: 40 }))
const served = delivered({ reservation: { served: passages(20) } })
const later = (startMs: number): Exchange => delivered({ startMs, reservation: { served: passages(1) } })
const UNMARKED = { soft_share: 1, hard_share: 1, document_share: 1, floors: { corpus: 1, document: 1_000 } }
const perDocument = { exposure: { ...UNMARKED, document_share: 0.01, floors: { corpus: 1, document: 20 } } }
const soft = { requests_per_minute: 10, exposure: { ...UNMARKED, soft_share: 0.2 } }

const MARKS: readonly Case[] = [
  ['a document past its mark', perDocument, [served, later(3_000)], ['exposure-marks']],
  ['a request before what was served counted', perDocument, [served, later(1_000)], []],
  ['a fifth of the rate past the soft mark', soft, [served, delivered({ startMs: 3_000 })], []],
  ['more than that', soft, [served, ...at(3_000, 4_000)], ['exposure-marks']],
]

const keyed = { idempotencyKey: 'key' }
const original = delivered({ record: keyed })
const other = delivered({ record: { idempotencyKey: 'other' } })
const naming = ({ record }: Exchange): Exchange =>
  refused('REQUEST_ALREADY_PROCESSED', { record: { ...keyed, originalRequestId: record.requestId } })

const REPLIES: readonly Case[] = [
  ['a broken rule of the contract', {}, [delivered({ record: { faults: ['no-store'] } })], ['catalogue']],
  ['no reply', {}, [delivered({ record: { outcome: 'lost', status: 0 } })], ['answered']],
  ['an unknown key that passes', {}, [delivered({ record: { unknownKey: true } })], ['unknown-keys']],
  [
    'a known key that is refused beside unknown ones',
    {},
    [refused('INVALID_API_KEY', { record: unknown }), refused('INVALID_API_KEY')],
    ['unknown-keys'],
  ],
  ['a conflict that names its request', {}, [original, naming(original)], []],
  ['two charges with one key', {}, [original, delivered({ record: keyed })], ['idempotency']],
  ['a conflict that names another key', {}, [original, other, naming(other)], ['idempotency']],
]

test.each([...CHARGES, ...CAPS, ...MARKS, ...REPLIES])('%s', (_, limits, exchanges, violated) => {
  const found = violatedChecks(craftEvidence(exchanges, limits))
  expect(found.toSorted()).toEqual(violated.toSorted())
})

test('a lost request is excused where its gateway was killed meanwhile', () => {
  const lost = craftEvidence([delivered({ record: { outcome: 'lost', status: 0 } })])
  const killed = (gateway: number, atMs: number): readonly string[] =>
    violatedChecks({ ...lost, kills: [{ gateway, atMs: NOON_MS + atMs }] })
  expect(killed(0, 50)).toEqual([])
  expect(killed(1, 50)).toEqual(['answered'])
  expect(killed(0, 90_000)).toEqual(['answered'])
})

test('a lease that is left and a reservation that stays open violate leases-end', () => {
  const evidence = craftEvidence(usual)
  const counters = evidence.counters.map((counted) => ({ ...counted, leases: 1 }))
  expect(violatedChecks({ ...evidence, counters })).toEqual(['leases-end'])
  const open = delivered({ reservation: { state: 'open', finishedAtMs: null, ledger: [charge] }, record: silent })
  expect(violatedChecks(craftEvidence([open]))).toContain('leases-end')
})
