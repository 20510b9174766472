import { expect, test } from 'vitest'
import { NOON_MS, craftEvidence, delivered, refunded, refused, type Exchange } from '#test/load/checks/crafted.ts'
import { BASELINE, FLEET_CHECKS, GRACE_MS, type FleetEvidence } from './checks.ts'

const VERSION = 'version-1'
const sizes = { gateways: 2, nodes: 2, workers: 1, objectStores: 1 } as const
const question = 'Which rule applies?'
const served = [{ chunk: 'passage', document: 'act', total: 40 }]

/** A 200 of a right service. */
const answer = (startMs: number, record: object = {}): Exchange =>
  delivered({ startMs, record: { decision: 'answer', version: VERSION, ...record }, reservation: { served } })
const baseline = answer(0, { phase: BASELINE })
const silent = (startMs: number): Exchange => ({ ...delivered({ startMs, record: { outcome: 'lost', status: 0 } }) })

function craftFleet(exchanges: readonly Exchange[], more: Partial<FleetEvidence> = {}): FleetEvidence {
  const evidence = craftEvidence(exchanges)
  return {
    ...evidence,
    sizes,
    windows: [],
    questionOf: new Map(evidence.records.map(({ n }) => [n, question])),
    providerCallsMs: evidence.reservations.map(({ admittedAtMs }) => admittedAtMs),
    work: { activations: [{ versionId: VERSION, atMs: NOON_MS - 60_000 }], unfinished: [], active: [VERSION] },
    withdrawn: [],
    revoked: [],
    captures: { kept: [], lost: [] },
    slowness: 1,
    ended: [],
    ...more,
  }
}

const violated = (evidence: FleetEvidence): readonly string[] =>
  FLEET_CHECKS.filter(({ find }) => find(evidence).violations.length > 0).map(({ name }) => name)
const faults = (...of: readonly (readonly [party: string, kind: string])[]): Pick<FleetEvidence, 'windows'> => ({
  windows: of.map(([party, kind]) => ({ party, kind, fromMs: NOON_MS + 1_000, toMs: NOON_MS + 2_000 })),
})
const withdrawn = (fromMs: number): Pick<FleetEvidence, 'withdrawn'> => ({
  withdrawn: [{ chunk: 'passage', fromMs: NOON_MS + fromMs, toMs: NOON_MS + 30_000 }],
})
const abstained = answer(10_000, { decision: 'abstain' })
const away = refunded({ startMs: 1_500 })
const work = craftFleet([]).work

test.each<[what: string, exchanges: readonly Exchange[], more: Partial<FleetEvidence>, violated: readonly string[]]>([
  [
    'a right service',
    [baseline, answer(1_000), refused('RATE_LIMITED', { startMs: 1_050 })],
    {},
    ['refused-with-room'],
  ],
  ['no fault', [baseline, answer(1_000)], {}, []],
  ['a 503 without a fault', [baseline, away], {}, ['within-scope']],
  ['a 503 of a search without a provider', [baseline, away], faults(['provider', 'refuse']), []],
  ['a 503 in the grace', [refunded({ startMs: 2_000 + GRACE_MS })], faults(['provider', 'slow']), []],
  ['a 503 after it', [refunded({ startMs: 2_001 + GRACE_MS })], faults(['provider', 'slow']), ['within-scope']],
  ['a 503 of a search without Redis', [away], faults(['redis', 'kill']), ['within-scope']],
  ['a 503 with one node', [away], faults(['node-0', 'kill']), ['within-scope']],
  ['a 503 of a busy machine', [away], faults(['machine', 'busy']), []],
  ['a 503 without nodes', [away], faults(['node-0', 'kill'], ['node-1', 'network stall']), []],
  ['no reply of a killed gateway', [silent(1_500)], faults(['gateway-0', 'kill']), []],
  ['no reply of another', [silent(1_500)], faults(['gateway-1', 'kill']), ['within-scope']],
  ['no reply without Postgres', [silent(1_500)], faults(['postgres', 'crash']), ['within-scope']],
  ['a key that is refused', [refused('INVALID_API_KEY')], faults(['gateway-0', 'clock-ahead']), ['within-scope']],
  ['a slow reply', [delivered({ endMs: 13_000 })], {}, ['deadline']],
  ['a slow reply of a busy machine', [delivered({ endMs: 13_000 })], { slowness: 2 }, []],
  ['a slow reply of a stopped gateway', [delivered({ endMs: 13_000 })], faults(['gateway-0', 'stop']), []],
  ['an abstention', [baseline, abstained], faults(['provider', 'slow']), ['no-false-abstention']],
  [
    'an abstention for a withdrawal',
    [baseline, { ...abstained, reservation: undefined }],
    withdrawn(1_000),
    ['charged-once'],
  ],
  ['a call without a charge', [baseline], { providerCallsMs: [NOON_MS, NOON_MS] }, ['paid-after-charge']],
  ['a retry', [answer(5_000)], { providerCallsMs: [NOON_MS + 1_500], ...faults(['provider', 'network cut']) }, []],
  ['a reply of another version', [answer(0, { version: 'version-0' })], {}, ['one-version']],
  ['two active versions', [baseline], { work: { ...work, active: [VERSION, 'version-0'] } }, ['one-version']],
  ['a build that hangs', [baseline], { work: { ...work, unfinished: ['build 1'] } }, ['jobs-end']],
  ['a withdrawn passage', [baseline, answer(10_000)], withdrawn(1_000), ['withdrawn']],
  ['one that was just withdrawn', [baseline, answer(10_000)], withdrawn(6_000), []],
  ['a revoked key', [baseline], { revoked: [{ gateway: 0, afterMs: 5_001, status: 200 }] }, ['revoked']],
  ['a key that was just revoked', [baseline], { revoked: [{ gateway: 0, afterMs: 4_999, status: 200 }] }, []],
  ['a lost capture', [baseline], { captures: { kept: ['f00'], lost: ['f00'] } }, ['captured']],
  ['a process that ended', [baseline], { ended: ['node-0: code 1'] }, ['stays-up']],
])('%s', (_, exchanges, more, expected) => {
  expect(violated(craftFleet(exchanges, more))).toEqual(expected)
})
