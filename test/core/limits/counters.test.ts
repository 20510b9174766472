import { createHash, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { LIMIT_BOUNDS } from '#core/limits/bounds.ts'
import { openCounters } from '#core/limits/counters.ts'
import { DAY_MS } from '#core/platform/time.ts'
import { deadlinesKey, type LimitScope } from '#core/limits/counter-keys.ts'
import { createLog } from '#core/platform/log.ts'
import type { PlanLimits } from '#core/domain/quota-plan.ts'
import { EPOCH, WINDOW_MS, keysOf, openTestCounters, passages, plan } from './test-counters.ts'

const { ask, counters, createScope, end, redis } = await openTestCounters()

const digestOf = (key: string): Buffer => createHash('sha256').update(key).digest()
const statuses = async (scope: LimitScope, limits: PlanLimits, times: number): Promise<string[]> => {
  const seen: string[] = []
  for (let i = 0; i < times; i++) seen.push((await ask(scope, limits)).status)
  return seen
}

describe('admission', () => {
  test('nothing is admitted under an epoch that is not in force', async () => {
    const scope = await createScope()
    expect((await ask(scope, plan(), { epoch: randomUUID() })).status).toBe('stale')
    await counters.retire(scope.organizationId)
    expect((await ask(scope, plan())).status).toBe('stale')
  })

  test('the rate is a sliding window: exactly the plan is admitted, then a wait until the oldest leaves', async () => {
    const scope = await createScope()
    const limits = plan({ requests_per_minute: 3 })
    expect(await statuses(scope, limits, 3)).toEqual(['admitted', 'admitted', 'admitted'])
    const refused = await ask(scope, limits)
    expect(refused.status).toBe('rate')
    expect(refused.retryAfterMs).toBeGreaterThan(55_000)
    expect(refused.retryAfterMs).toBeLessThanOrEqual(60_000)
    const [oldest] = await redis.zrange(keysOf(scope).minute, '0', '0')
    await redis.zadd(keysOf(scope).minute, String(Date.now() - 60_001), oldest ?? '')
    expect((await ask(scope, limits)).status).toBe('admitted')
  })

  test('concurrency counts requests that are charged and not settled', async () => {
    const scope = await createScope()
    const limits = plan({ concurrency: 2 })
    const requestId = randomUUID()
    await ask(scope, limits, { requestId })
    await ask(scope, limits)
    expect((await ask(scope, limits)).status).toBe('concurrency')
    await end(scope, requestId, 'fail')
    expect((await ask(scope, limits)).status).toBe('admitted')
  })

  test('a lease past its deadline makes the counters uncertain: they must be rebuilt first', async () => {
    const scope = await createScope()
    const requestId = randomUUID()
    await ask(scope, plan(), { requestId })
    await redis.zadd(deadlinesKey(scope.organizationId, EPOCH), String(Date.now() - 1), requestId)
    expect((await ask(scope, plan())).status).toBe('overdue')
    expect((await ask({ ...scope, entitlementId: randomUUID() }, plan())).status).toBe('overdue')
  })

  test('a lease does not expire, however long its entitlement always has another one', async () => {
    const scope = await createScope()
    const { counts, leases } = keysOf(scope)
    const keys = [counts, leases, deadlinesKey(scope.organizationId, EPOCH)]
    const requestId = randomUUID()
    await ask(scope, plan(), { requestId })
    for (const key of keys) expect(await redis.pttl(key), key).toBeGreaterThan(39 * DAY_MS)
    // The first request of another day.
    for (const key of keys) await redis.pexpire(key, DAY_MS)
    for (const field of await redis.hkeys(counts)) if (field.startsWith('d')) await redis.hdel(counts, field)
    await ask(scope, plan())
    for (const key of keys) expect(await redis.pttl(key), key).toBeGreaterThan(39 * DAY_MS)
    // A key that was deleted with its last lease.
    await redis.del(leases, deadlinesKey(scope.organizationId, EPOCH))
    await ask(scope, plan())
    for (const key of keys) expect(await redis.pttl(key), key).toBeGreaterThan(39 * DAY_MS)
  })

  test('an exhausted allowance wins over an exhausted rate', async () => {
    const scope = await createScope()
    const limits = plan({ requests_per_minute: 2, requests_per_day: 2 })
    expect(await statuses(scope, limits, 3)).toEqual(['admitted', 'admitted', 'quota'])
  })

  test('the monthly allowance holds across days', async () => {
    const scope = await createScope()
    const limits = plan({ requests_per_month: 2 })
    expect(await statuses(scope, limits, 3)).toEqual(['admitted', 'admitted', 'quota'])
    const counts = await redis.hgetall(keysOf(scope).counts)
    const now = new Date()
    expect(counts).toEqual({
      [`d${Math.floor(now.getTime() / 86_400_000)}`]: '2',
      [`m${now.getUTCFullYear() * 12 + now.getUTCMonth() + 1}`]: '2',
    })
  })

  test('a refused request consumes nothing', async () => {
    const scope = await createScope()
    const limits = plan({ concurrency: 1 })
    await ask(scope, limits)
    const before = await ask(scope, limits)
    const after = await ask(scope, limits)
    expect(after).toMatchObject({
      status: 'concurrency',
      dayUsed: before.dayUsed,
      monthUsed: before.monthUsed,
      minuteUsed: before.minuteUsed,
    })
    expect(after.dayUsed).toBe(1)
  })

  test('the same request id is charged once, however often the script runs', async () => {
    const scope = await createScope()
    const requestId = randomUUID()
    await ask(scope, plan(), { requestId })
    const again = await ask(scope, plan(), { requestId })
    expect(again).toMatchObject({ status: 'admitted', dayUsed: 1, minuteUsed: 1 })
  })

  test('while a request is being admitted under a key, another waits, before any allowance is looked at', async () => {
    const scope = await createScope()
    const limits = plan({ requests_per_day: 1 })
    const idempotencyDigest = digestOf('a')
    await ask(scope, limits, { idempotencyDigest })
    expect((await ask(scope, limits, { idempotencyDigest })).status).toBe('held')
    expect((await ask(scope, limits, { idempotencyDigest: digestOf('b') })).status).toBe('quota')
  })

  test('a refused request may look up its key ten times as often as the rate allows, and without a key never', async () => {
    const scope = await createScope()
    const limits = plan({ requests_per_minute: 2, requests_per_day: 1 })
    await ask(scope, limits)
    const looksMax = limits.requests_per_minute * LIMIT_BOUNDS.idempotencyLooksPerRequest
    const lookUps: boolean[] = []
    for (let n = 0; n <= looksMax; n++)
      lookUps.push((await ask(scope, limits, { idempotencyDigest: digestOf(`l${n}`) })).mayLookUp)
    expect(lookUps).toEqual(lookUps.map((_, n) => n < looksMax))
    expect((await ask(scope, limits)).mayLookUp).toBe(false)
  })
})

test.each([
  ['an undo restores everything', 'undo', 1],
  ['a refund restores day, month and the idempotency key, never the minute slot', 'refund', 2],
] as const)('%s, once', async (_, ending, minuteUsed) => {
  const scope = await createScope()
  const requestId = randomUUID()
  const idempotencyDigest = digestOf(ending)
  await ask(scope, plan(), { requestId, idempotencyDigest })
  await end(scope, requestId, ending, idempotencyDigest)
  await end(scope, requestId, ending, idempotencyDigest)
  const used = { dayUsed: 1, monthUsed: 1, minuteUsed }
  expect(await ask(scope, plan(), { idempotencyDigest })).toMatchObject({ status: 'admitted', ...used })
})

describe('installed counters', () => {
  test('stand for what the reservations said: used allowances, minute slots, leases, exposure', async () => {
    const scope = await createScope()
    const epoch = randomUUID()
    const id = randomUUID()
    const now = Date.now()
    const [day, date] = [Math.floor(now / 86_400_000), new Date(now)]
    const month = date.getUTCFullYear() * 12 + date.getUTCMonth() + 1
    const { installer } = counters
    await installer.requests(
      scope.organizationId,
      epoch,
      [
        { ...scope, day, month, requests: 4 },
        { ...scope, day: day - 1, month, requests: 3 },
      ],
      [{ ...scope, id, admittedAtMs: now, deadlineAtMs: now + 20_000, open: true }],
    )
    await installer.passages(
      scope.organizationId,
      epoch,
      WINDOW_MS,
      passages('a', 0, 6).map((passage) => ({ ...passage, ...scope, atMs: now, newOn: [day] })),
    )
    await installer.enforce(scope.organizationId, epoch, WINDOW_MS)
    const limits = plan({ concurrency: 1 })
    expect(await ask(scope, limits, { epoch })).toMatchObject({
      status: 'concurrency',
      dayUsed: 4,
      monthUsed: 7,
      minuteUsed: 1,
    })
    await end(scope, id, 'refund')
    expect(await ask(scope, limits, { epoch })).toMatchObject({ status: 'admitted', dayUsed: 4, monthUsed: 7 })
    const tight = plan({ exposure: { floors: { corpus: 6 }, soft_share: 0.0001, hard_share: 0.0001 } })
    expect((await ask(scope, tight, { corpusPassages: 10, epoch })).status).toBe('exposure')
  })
})

test('nothing is decided while the store is away, and that is said at once', async () => {
  using ending = new DisposableStack()
  const lost = ending.adopt(openCounters('redis://127.0.0.1:1/0', createLog('test', 'silent')), (it) => it.close())
  await sleep(50)
  expect(lost.runId()).toBeUndefined()
  await expect(
    lost.admit(await createScope(), EPOCH, {
      requestId: randomUUID(),
      limits: plan(),
      corpusPassages: 1,
      exposureAllowance: 0,
      topK: 0,
      idempotencyDigest: undefined,
    }),
  ).rejects.toThrow()
})
