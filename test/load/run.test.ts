import { afterAll, beforeAll, expect, test } from 'vitest'
import { withoutGuards } from '#test/support/postgres.ts'
import type { Fault } from './faults/fault.ts'
import { startFaultyService, violatedIn, type FaultyService } from './faulty-service.ts'
import { exitCodeOf } from './report.ts'

let faulty: FaultyService

beforeAll(async () => {
  faulty = await startFaultyService()
})
afterAll(() => faulty.stop())

const FOUND: readonly (readonly [Fault, what: string, scenario: string, checks: readonly string[]])[] = [
  ['concurrency-off', 'a gateway with the concurrency check off', 'concurrency', ['concurrency-cap']],
  ['counts-twice', 'a limiter that counts twice', 'minute', ['refused-with-room', 'counters-agree']],
  ['lost-refund', 'a refund that is lost', 'idempotency', ['unavailable-refunded']],
  ['exposure-off', 'passages that do not count as exposure', 'crawl', ['exposure-marks']],
]

test.each(FOUND)('%s: %s is found in the scenario %s by %j', async (fault, _, scenario, checks) => {
  const report = await faulty.run(scenario, { fault })
  expect(violatedIn(report)).toEqual(checks)
  expect(exitCodeOf(report)).toBe(1)
})

test('a lease that ends late is found by retry-after', async () => {
  const report = await faulty.run('concurrency', { fault: 'late-release' })
  expect(violatedIn(report)).toEqual(expect.arrayContaining(['refused-with-room', 'retry-after']))
})

test.each([
  ['missing', 'delete from ledger where reservation_id = '],
  ['altered', 'update ledger set charged = not charged where reservation_id = '],
])('a ledger row that is %s is found by ledger-row', async (_, statement) => {
  const newest = '(select reservation_id from ledger order by admitted_at desc limit 1)'
  const beforeJudgement = (): Promise<void> => withoutGuards(faulty.service.owner, `${statement}${newest}`, [])
  expect(violatedIn(await faulty.run('keys', { beforeJudgement }))).toEqual(['ledger-row'])
})

test('an interrupted run ends what is under way, reports it and has the exit code of an interruption', async () => {
  const interrupted = new AbortController()
  const progress = {
    update: (_: string, done = 0) => {
      if (done >= 20) interrupted.abort()
    },
    end: () => undefined,
  }
  const report = await faulty.run('disconnects', { seconds: 600, signal: interrupted.signal, progress })
  expect(report.interrupted).toBe(true)
  expect(report.scenarios[0]?.phases[0]?.outcomes.map(({ outcome }) => outcome)).toContain('200')
  expect(violatedIn(report)).toEqual([])
  expect(exitCodeOf(report)).toBe(130)
})
