import { expect, test } from 'vitest'
import { catalogueOf, drawSchedule, excuseOf } from './schedule.ts'

const sizes = { gateways: 2, nodes: 2, workers: 1, objectStores: 1 } as const
const TEN_MINUTES_MS = 600_000

test('a seed gives the same rounds again, and another seed gives other ones', () => {
  const drawn = drawSchedule(7, TEN_MINUTES_MS, sizes)
  expect(drawSchedule(7, TEN_MINUTES_MS, sizes)).toEqual(drawn)
  expect(drawSchedule(8, TEN_MINUTES_MS, sizes)).not.toEqual(drawn)
})

test('rounds follow each other with quiet time between, end within the run, and fault every kind of party', () => {
  const rounds = drawSchedule(7, TEN_MINUTES_MS, sizes)
  for (const [at, { atMs, lastsMs, faults }] of rounds.entries()) {
    expect(rounds[at + 1]?.atMs ?? TEN_MINUTES_MS).toBeGreaterThanOrEqual(atMs + lastsMs + 14_000)
    expect(new Set(faults.map(({ party }) => party)).size).toBe(faults.length)
  }
  const parties = rounds.flatMap(({ faults }) => faults.map(({ party }) => party.replace(/-\d$/, '')))
  expect([...new Set(parties)].sort()).toEqual(['gateway', 'node', 'postgres', 'provider', 'redis', 's3', 'worker'])
  expect(rounds.filter(({ faults }) => faults.length === 2).length).toBeGreaterThan(3)
  expect(rounds.filter(({ operation }) => operation !== undefined).length).toBeGreaterThan(3)
})

test('every fault of a worker, of the object store or of one node is hidden from callers', () => {
  for (const fault of catalogueOf(sizes)) {
    const { failures } = excuseOf(fault, [fault], sizes)
    expect(failures.length === 0, `${fault.party} ${fault.kind}`).toBe(/^(?:node-|worker-|s3$)/.test(fault.party))
  }
})
