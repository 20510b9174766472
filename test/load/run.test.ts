import { afterAll, beforeAll, expect, test } from 'vitest'
import { withoutGuards } from '#test/support/postgres.ts'
import { startFaultyService, violatedIn } from './faulty-service.ts'
import type { FaultyService } from './faulty-service.ts'

let faulty: FaultyService

beforeAll(async () => {
  faulty = await startFaultyService()
})
afterAll(() => faulty.stop())

test('a gateway with the concurrency check off is found by concurrency-cap', async () => {
  const report = await faulty.run('concurrency', { fault: 'concurrency-off' })
  expect(violatedIn(report)).toEqual(['concurrency-cap'])
})

test('a limiter that counts twice is found by refused-with-room and counters-agree', async () => {
  const report = await faulty.run('minute', { fault: 'counts-twice' })
  expect(violatedIn(report)).toEqual(['refused-with-room', 'counters-agree'])
})

test('a lease that ends late is found by retry-after', async () => {
  const report = await faulty.run('concurrency', { fault: 'late-release' })
  expect(violatedIn(report)).toEqual(expect.arrayContaining(['refused-with-room', 'retry-after']))
})

test('a refund that is lost is found by unavailable-refunded', async () => {
  const report = await faulty.run('idempotency', { fault: 'lost-refund' })
  expect(violatedIn(report)).toEqual(['unavailable-refunded'])
})

test('passages that do not count as exposure are found by exposure-marks', async () => {
  const report = await faulty.run('crawl', { fault: 'exposure-off' })
  expect(violatedIn(report)).toEqual(['exposure-marks'])
})

test('a ledger row that is missing, and one that is altered, are found by ledger-row', async () => {
  const { owner } = faulty.service
  const newest = 'select reservation_id from ledger order by admitted_at desc limit 1'
  for (const statement of [
    `delete from ledger where reservation_id = (${newest})`,
    `update ledger set charged = not charged where reservation_id = (${newest})`,
  ]) {
    const report = await faulty.run('keys', { beforeJudgement: () => withoutGuards(owner, statement, []) })
    expect(violatedIn(report), statement).toEqual(['ledger-row'])
  }
})
