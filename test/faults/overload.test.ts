import { afterAll, beforeAll, expect, test } from 'vitest'
import { GATEWAY_BOUNDS } from '#gateway/bounds.ts'
import { remaining, settledLedgerRows } from '#test/support/ledger.ts'
import { startTestService, type TestService } from '#test/support/service.ts'

const REQUESTS = GATEWAY_BOUNDS.requestsActiveFirst * 3

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service?.stop())

test('a gateway that cannot finish what it has refuses more before the charge: 503 with Retry-After', async () => {
  const caller = await service.createCaller({
    limits: { requests_per_minute: 1_000, requests_per_day: 1_000, requests_per_month: 1_000, concurrency: 1_000 },
  })
  expect((await caller.ask()).status).toBe(200)
  const lock = await service.owner.connect()
  await lock.query('begin')
  await lock.query('lock table reservations in access exclusive mode')
  const asked = Array.from({ length: REQUESTS }, () => caller.ask())
  const first = await Promise.race(asked)
  await lock.query('rollback')
  lock.release()
  expect(first.error()).toMatchObject({ error: { code: 'INTERNAL_UNAVAILABLE', retryable: true } })
  expect({ status: first.status, retryAfter: first.headers.get('retry-after') }).toEqual({
    status: 503,
    retryAfter: '1',
  })
  expect(first.headers.get('ratelimit')).toBeNull()

  const answers = await Promise.all(asked)
  const shed = answers.filter(({ status, headers }) => status === 503 && headers.get('ratelimit') === null)
  const delivered = answers.filter(({ status }) => status === 200)
  expect(shed.length).toBeGreaterThan(0)
  const rows = await settledLedgerRows(service.owner, caller.entitlementId)
  expect(rows.length).toBeLessThanOrEqual(1 + REQUESTS - shed.length)
  expect(rows.filter(({ charged }) => charged).length).toBe(1 + delivered.length)
  expect(remaining((await caller.ask()).headers).day).toBe(1_000 - 2 - delivered.length)
})
