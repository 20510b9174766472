import { expect, test } from 'vitest'
import type { ServedPassage } from '#core/domain/exposure.ts'
import { CHECKS } from '#test/load/run.ts'
import { NOON_MS, craftEvidence, delivered, refunded, refused, violatedChecks } from './crafted.ts'
import type { Crafted, Exchange } from './crafted.ts'

type Case = readonly [what: string, limits: object, exchanges: readonly Exchange[], violated: readonly string[]]

const times = (count: number, of: (n: number) => Crafted = () => ({})): readonly Exchange[] =>
  Array.from({ length: count }, (_, n) => delivered(of(n)))
const at = (...starts: readonly number[]): readonly Exchange[] => starts.map((startMs) => delivered({ startMs }))
const limited = (startMs: number): Exchange => refused('RATE_LIMITED', { startMs })
const exhausted = refused('QUOTA_EXHAUSTED', { startMs: 300 })
const DAY_MS = 86_400_000
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
  ['a charged 503', {}, [refunded({ reservation: failed })], ['unavailable-refunded']],
  [
    'a charged 503 past the cap of refunds',
    { requests_per_day: 1, concurrency: 5 },
    [refunded({ startMs: -500 }), refunded({ reservation: failed })],
    [],
  ],
  ['no entry', {}, [delivered({ reservation: { ledger: [] } })], ['ledger-row']],
  ['no charge', {}, [delivered({ reservation: { ledger: [{ ...charge, charged: false }] } })], ['ledger-row']],
  ['a refund with a charge', {}, [refunded({ reservation: { ledger: [charge] } })], ['ledger-row']],
  ['no request', {}, [one, delivered({ reservation: ofNoRequest, record: unknown })], ['asked-for']],
  ['no request but a silent one', {}, [one, delivered({ reservation: ofNoRequest, record: silent })], []],
]

const unfinished = delivered({
  record: { outcome: 'lost', status: 0 },
  reservation: { finishedAtMs: null, state: 'open', ledger: [] },
})
const OPEN = ['leases-end', 'ledger-row', 'answered']

const CAPS: readonly Case[] = [
  ['as many leases at once as the plan allows', { concurrency: 3 }, times(3), []],
  ['one lease more', { concurrency: 3 }, times(4), ['concurrency-cap']],
  [
    'a lease that begins as another ends',
    { concurrency: 1 },
    [delivered(), delivered({ startMs: 98, endMs: 200 })],
    [],
  ],
  [
    'a lease without an outcome, before its deadline',
    { concurrency: 1 },
    [unfinished, delivered({ startMs: 19_000 })],
    ['concurrency-cap', ...OPEN],
  ],
  [
    'a lease without an outcome, after its deadline',
    { concurrency: 1 },
    [unfinished, delivered({ startMs: 20_100 })],
    OPEN,
  ],
  ['the rate over the edge of a minute', { requests_per_minute: 3 }, at(0, 40_000, 59_000, 60_000), []],
  ['one admission more', { requests_per_minute: 3 }, at(0, 40_000, 59_000, 59_999), ['minute-rate']],
  [
    'one admission more in the fullest minute',
    { requests_per_minute: 3 },
    at(0, 30_000, 59_500, 60_100, 89_000),
    ['minute-rate'],
  ],
  ['one charge more in a day', { requests_per_day: 2, concurrency: 5 }, times(3), ['day-allowance']],
  ['charges of two days', { requests_per_day: 2 }, at(0, 200, 12 * 3_600_000), []],
  [
    'one charge more in a month',
    { requests_per_month: 2 },
    times(3, (n) => ({ startMs: n * DAY_MS })),
    ['month-allowance'],
  ],
  ['a refund beside the allowance', { requests_per_day: 2, concurrency: 5 }, [...times(2), refunded()], []],
]

const rated = { requests_per_minute: 3, concurrency: 10 }
const full = { record: { minuteLeft: 0, minuteQuota: 3 } }
const alone = { concurrency: 1 }
const daily = { requests_per_day: 2, concurrency: 10 }
const held = delivered({ endMs: 900 })
const first = limited(100)
const probe = refused('RATE_LIMITED', { startMs: 1_105, record: { probeOf: first.record.n } })
const conflict = refused('REQUEST_ALREADY_PROCESSED', { endMs: 100 })

const ROOM: readonly Case[] = [
  ['a full minute', rated, [...at(0, 100, 200), refused('RATE_LIMITED', { startMs: 300, ...full })], []],
  [
    'a minute with room',
    rated,
    [...at(0, 100, 200), refused('RATE_LIMITED', { startMs: 60_150, ...full })],
    ['refused-with-room'],
  ],
  [
    'a minute that a refund fills',
    rated,
    [...times(2), refunded(), refused('RATE_LIMITED', { startMs: 300, ...full })],
    [],
  ],
  ['every lease held', { concurrency: 2 }, [...times(2, () => ({ endMs: 1_000 })), limited(500)], []],
  [
    'leases that ended',
    { concurrency: 2 },
    [...times(2, () => ({ endMs: 1_000 })), limited(1_500)],
    ['refused-with-room'],
  ],
  ['a lease of a caller who hung up', alone, [delivered({ endMs: 50, record: silent }), limited(5_000)], []],
  ['a charge that may have been undone', alone, [conflict, limited(50)], []],
  ['nothing that may have been undone', alone, [limited(50)], ['refused-with-room']],
  ['a used-up day', daily, [...times(2), exhausted], []],
  ['a day with room', daily, [delivered(), exhausted], ['refused-with-room']],
  ['a refund before the refusal', daily, [delivered(), refunded(), exhausted], ['refused-with-room']],
  ['a refund during the refusal', daily, [delivered(), refunded({ endMs: 301 }), exhausted], []],
  ['a probe although there is room', alone, [held, first, probe], ['refused-with-room', 'retry-after']],
  ['a probe beside another request', alone, [held, first, delivered({ startMs: 1_000, endMs: 2_000 }), probe], []],
  [
    'a charge under a new epoch',
    alone,
    [delivered({ endMs: 500, reservation: { admittedAtMs: NOON_MS + 400 } }), limited(100)],
    [],
  ],
]

const keyed = { idempotencyKey: 'key' }
const original = delivered({ record: keyed })
const other = delivered({ record: { idempotencyKey: 'other' } })
const naming = ({ record }: Exchange): Exchange =>
  refused('REQUEST_ALREADY_PROCESSED', { record: { ...keyed, originalRequestId: record.requestId } })
const passages = (count: number, document = 'act'): readonly ServedPassage[] =>
  Array.from({ length: count }, (_, n) => ({ chunk: `${document}-${n}`, document, total: 40 }))
const served = delivered({ reservation: { served: passages(20) } })
const later = (startMs: number, document = 'act'): Exchange =>
  delivered({ startMs, reservation: { served: passages(1, document) } })
const UNMARKED = { soft_share: 1, hard_share: 1, document_share: 1, floors: { corpus: 1, document: 1_000 } }
const hard = { exposure: { ...UNMARKED, hard_share: 0.2, soft_share: 0.2 } }
const perDocument = { exposure: { ...UNMARKED, document_share: 0.01, floors: { corpus: 1, document: 20 } } }
const soft = { requests_per_minute: 10, exposure: { ...UNMARKED, soft_share: 0.2 } }

const REPLIES: readonly Case[] = [
  ['a broken rule of the contract', {}, [delivered({ record: { faults: ['no-store'] } })], ['catalogue']],
  ['no reply', {}, [delivered({ record: { outcome: 'lost', status: 0 } })], ['answered']],
  [
    'a request that was never sent',
    {},
    [{ record: { ...one.record, outcome: 'not sent', status: 0 }, reservation: undefined }],
    [],
  ],
  ['an unknown key that passes', {}, [delivered({ record: { unknownKey: true } })], ['unknown-keys']],
  [
    'a known key that is refused beside unknown ones',
    {},
    [refused('INVALID_API_KEY', { record: unknown }), refused('INVALID_API_KEY')],
    ['unknown-keys'],
  ],
  ['a conflict that names its request', {}, [original, naming(original)], []],
  ['two charges with one key', {}, [original, delivered({ record: keyed })], ['idempotency']],
  ['a charge after a refund with one key', {}, [refunded({ record: keyed, startMs: -500 }), original], []],
  ['a conflict that names another key', {}, [original, other, naming(other)], ['idempotency']],
  ['a request past the hard mark', hard, [served, later(3_000)], ['exposure-marks']],
  ['a request before what it was served counted', hard, [served, delivered({ startMs: 1_000 })], []],
  ['a document past its mark', perDocument, [served, later(3_000)], ['exposure-marks']],
  ['a document beside one past its mark', perDocument, [served, later(3_000, 'other')], []],
  ['a fifth of the rate past the soft mark', soft, [served, delivered({ startMs: 3_000 })], []],
  ['more than that', soft, [served, delivered({ startMs: 3_000 }), delivered({ startMs: 4_000 })], ['exposure-marks']],
]

test.each([...CHARGES, ...CAPS, ...ROOM, ...REPLIES])('%s', (_, limits, exchanges, violated) => {
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

test('a lease that is left violates leases-end, and counters that differ from the reservations counters-agree', () => {
  const evidence = craftEvidence(usual)
  const withCounters = (change: (count: number) => number, leases = 0): readonly string[] =>
    violatedChecks({
      ...evidence,
      counters: evidence.counters.map(({ entitlementId, counts }) => ({
        entitlementId,
        leases,
        counts: Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, change(count)])),
      })),
    })
  expect(withCounters((count) => count, 1)).toEqual(['leases-end'])
  for (const by of [-1, 1]) expect(withCounters((count) => count + by)).toEqual(['counters-agree'])
})

test('a check says how many facts it could have refused: none where nothing was admitted', () => {
  const checkedOf = (name: string, exchanges: readonly Exchange[]): number | undefined =>
    CHECKS.find((check) => check.name === name)?.find(craftEvidence(exchanges, alone)).checked
  for (const name of ['concurrency-cap', 'minute-rate', 'day-allowance', 'month-allowance'])
    expect(checkedOf(name, [limited(0)]), name).toBe(0)
  const admitted = delivered({ startMs: 1_105, record: { probeOf: first.record.n } })
  expect(checkedOf('retry-after', [held, first, admitted])).toBe(1)
  expect(checkedOf('retry-after', [held, first, delivered({ startMs: 1_000, endMs: 2_000 }), probe])).toBe(0)
})
