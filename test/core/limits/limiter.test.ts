import { createHash, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { limitKeys } from '#core/limits/counter-keys.ts'
import { openLimiter } from '#core/limits/limiter.ts'
import type { ServedPassage } from '#core/domain/exposure.ts'
import type { AdmissionDecision, Limiter } from '#core/limits/limiter.ts'
import type { LimitScope } from '#core/limits/counter-keys.ts'
import { createLog } from '#core/platform/log.ts'
import { planLimitsSchema } from '#core/domain/quota-plan.ts'
import type { PlanLimits } from '#core/domain/quota-plan.ts'
import { openTestRedis } from '#test/support/redis.ts'
import type { TestRedis } from '#test/support/redis.ts'
import { until } from '#test/support/until.ts'

const silent = createLog('test', 'silent')
let server: TestRedis
let redis: Redis
let limiter: Limiter

beforeAll(async () => {
  server = await openTestRedis()
  redis = new Redis(server.url)
  limiter = openLimiter(server.url, silent)
  await until('the limiter is connected', () => limiter.runId() !== undefined)
})
afterAll(async () => {
  limiter.close()
  redis.disconnect()
  await server.release()
})

async function createScope(): Promise<LimitScope> {
  const scope = {
    organizationId: randomUUID(),
    epoch: 1,
    entitlementId: randomUUID(),
    knowledgeBaseId: randomUUID(),
    clientId: randomUUID(),
    environment: 'live',
  }
  await redis.set(limitKeys(scope).ready, '1')
  return scope
}
function plan(limits: object = {}): PlanLimits {
  return planLimitsSchema.parse({ requests_per_minute: 1_000, concurrency: 1_000, ...limits })
}
function ask(
  scope: LimitScope,
  limits: PlanLimits,
  more: { requestId?: string; digest?: Buffer; corpusPassages?: number } = {},
): Promise<AdmissionDecision> {
  return limiter.admit(scope, {
    requestId: more.requestId ?? randomUUID(),
    limits,
    corpusPassages: more.corpusPassages ?? 100_000,
    idempotencyDigest: more.digest,
    originalRequestId: undefined,
  })
}
function passages(document: string, from: number, count: number, total = 1_000): ServedPassage[] {
  return Array.from({ length: count }, (_, index) => ({
    chunk: `${document}-${from + index}`,
    document,
    revision: `r-${document}`,
    ordinal: from + index,
    total,
  }))
}
const digestOf = (key: string): Buffer => createHash('sha256').update(key).digest()
const statuses = async (scope: LimitScope, limits: PlanLimits, times: number): Promise<string[]> => {
  const seen: string[] = []
  for (let i = 0; i < times; i++) seen.push((await ask(scope, limits)).status)
  return seen
}

describe('admission', () => {
  test('nothing is admitted under an epoch that is not ready', async () => {
    const scope = { ...(await createScope()), epoch: 2 }
    expect((await ask(scope, plan())).status).toBe('epoch')
  })

  test('the rate is a sliding window: exactly the plan is admitted, then a wait until the oldest leaves', async () => {
    const scope = await createScope()
    const limits = plan({ requests_per_minute: 3 })
    expect(await statuses(scope, limits, 3)).toEqual(['admitted', 'admitted', 'admitted'])
    const refused = await ask(scope, limits)
    expect(refused.status).toBe('rate')
    expect(refused.retryAfterMs).toBeGreaterThan(55_000)
    expect(refused.retryAfterMs).toBeLessThanOrEqual(60_000)
    const [oldest] = await redis.zrange(limitKeys(scope).minute, '0', '0')
    await redis.zadd(limitKeys(scope).minute, String(Date.now() - 60_001), oldest ?? '')
    expect((await ask(scope, limits)).status).toBe('admitted')
  })

  test('concurrency counts leases, and a lease that was never returned ends by itself', async () => {
    const scope = await createScope()
    const limits = plan({ concurrency: 2 })
    const requestId = randomUUID()
    await ask(scope, limits, { requestId })
    await ask(scope, limits)
    expect((await ask(scope, limits)).status).toBe('concurrency')
    await limiter.settle(scope, requestId, limits, [])
    expect((await ask(scope, limits)).status).toBe('admitted')
    for (const lease of await redis.zrange(limitKeys(scope).leases, '0', '-1'))
      await redis.zadd(limitKeys(scope).leases, String(Date.now() - 1), lease)
    expect((await ask(scope, limits)).status).toBe('admitted')
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
    const counts = await redis.hgetall(limitKeys(scope).counts)
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

  test('an idempotency key under way conflicts before any allowance is looked at, and names the original', async () => {
    const scope = await createScope()
    const limits = plan({ requests_per_day: 1 })
    const requestId = randomUUID()
    const digest = digestOf('a')
    await ask(scope, limits, { requestId, digest })
    expect(await ask(scope, limits, { digest })).toMatchObject({ status: 'conflict', originalRequestId: requestId })
  })
})

describe('taking back', () => {
  test('an undo restores everything, once', async () => {
    const scope = await createScope()
    const requestId = randomUUID()
    const digest = digestOf('b')
    await ask(scope, plan(), { requestId, digest })
    await limiter.undo(scope, requestId, digest)
    await limiter.undo(scope, requestId, digest)
    expect(await ask(scope, plan(), { digest })).toMatchObject({
      status: 'admitted',
      dayUsed: 1,
      monthUsed: 1,
      minuteUsed: 1,
    })
  })

  test('a refund restores day, month and the idempotency key, never the minute slot', async () => {
    const scope = await createScope()
    const requestId = randomUUID()
    const digest = digestOf('c')
    await ask(scope, plan(), { requestId, digest })
    await limiter.refund(scope, requestId, digest)
    expect(await ask(scope, plan(), { digest })).toMatchObject({
      status: 'admitted',
      dayUsed: 1,
      monthUsed: 1,
      minuteUsed: 2,
    })
  })
})

describe('extraction exposure', () => {
  test('past the soft mark the rate is reduced, past the hard mark it is 0; both count distinct passages', async () => {
    const scope = await createScope()
    const limits = plan({
      requests_per_minute: 10,
      exposure: { soft_share: 0.1, hard_share: 0.2, floors: { corpus: 1, document: 1_000, run: 1_000 }, run: 1_000 },
    })
    const corpus = { corpusPassages: 100 }
    await limiter.settle(scope, randomUUID(), limits, passages('a', 0, 9))
    await limiter.settle(scope, randomUUID(), limits, passages('a', 0, 9))
    expect(await ask(scope, limits, corpus)).toMatchObject({ status: 'admitted', rateInForce: 10 })
    await limiter.settle(scope, randomUUID(), limits, passages('b', 0, 1))
    expect(await ask(scope, limits, corpus)).toMatchObject({ status: 'admitted', rateInForce: 2 })
    expect(await ask(scope, limits, corpus)).toMatchObject({ status: 'rate' })
    await limiter.settle(scope, randomUUID(), limits, passages('c', 0, 10))
    expect((await ask(scope, limits, corpus)).status).toBe('exposure')
  })

  test('the floor wins over a smaller share', async () => {
    const scope = await createScope()
    const limits = plan({ exposure: { soft_share: 0.01, hard_share: 0.01 } })
    await limiter.settle(scope, randomUUID(), limits, passages('a', 0, 30))
    expect(await ask(scope, limits, { corpusPassages: 100 })).toMatchObject({ status: 'admitted', rateInForce: 1_000 })
  })

  test('it is shared by all entitlements of an organization to the knowledge base', async () => {
    const scope = await createScope()
    const limits = plan({ exposure: { floors: { corpus: 5 }, soft_share: 0.0001, hard_share: 0.0001 } })
    await limiter.settle(scope, randomUUID(), limits, passages('a', 0, 5))
    expect(
      (await ask({ ...scope, entitlementId: randomUUID(), clientId: randomUUID() }, limits, { corpusPassages: 10 }))
        .status,
    ).toBe('exposure')
    expect((await ask({ ...scope, knowledgeBaseId: randomUUID() }, limits, { corpusPassages: 10 })).status).toBe(
      'admitted',
    )
  })

  test('the share of one document stops it, until the window moves', async () => {
    const scope = await createScope()
    const limits = plan({ exposure: { document_share: 0.5, floors: { document: 2 } } })
    await limiter.settle(scope, randomUUID(), limits, [
      ...passages('a', 0, 1, 20),
      ...passages('a', 2, 1, 20),
      ...passages('a', 4, 1, 20),
      ...passages('a', 6, 1, 20),
    ])
    expect((await ask(scope, limits)).status).toBe('admitted')
    for (let ordinal = 8; ordinal < 20; ordinal += 2)
      await limiter.settle(scope, randomUUID(), limits, passages('a', ordinal, 1, 20))
    expect((await ask(scope, limits)).status).toBe('exposure')
    const document = `${limitKeys(scope).documentPrefix}a`
    for (const member of await redis.zrange(document, '0', '0'))
      await redis.zadd(document, String(Date.now() - 31 * 86_400_000), member)
    expect((await ask(scope, limits)).status).toBe('admitted')
  })

  test('a run of neighbours stops it, wherever the run is closed', async () => {
    const scope = await createScope()
    const limits = plan({ exposure: { run: 5, floors: { run: 5 } } })
    await limiter.settle(scope, randomUUID(), limits, [...passages('a', 10, 2), ...passages('a', 13, 2)])
    expect((await ask(scope, limits)).status).toBe('admitted')
    await limiter.settle(scope, randomUUID(), limits, passages('a', 12, 1))
    expect((await ask(scope, limits)).status).toBe('exposure')
  })
})

describe('installed counters', () => {
  test('stand for what the reservations said: used allowances, minute slots, leases, exposure', async () => {
    const scope = { ...(await createScope()), epoch: 9 }
    const requestId = randomUUID()
    const now = Date.now()
    await limiter.install(scope.organizationId, 9, {
      entitlements: [
        {
          scope,
          dayUsed: 4,
          monthUsed: 7,
          minute: [{ requestId, atMs: now }],
          open: [{ requestId, admittedAtMs: now, deadlineMs: now + 5_000, idempotencyDigest: digestOf('d') }],
        },
      ],
      exposure: [
        { scope, windowMs: 86_400_000, served: passages('a', 0, 6).map((passage) => ({ atMs: now, passage })) },
      ],
    })
    const limits = plan({ concurrency: 1 })
    expect(await ask(scope, limits)).toMatchObject({ status: 'concurrency', dayUsed: 4, monthUsed: 7, minuteUsed: 1 })
    expect(await ask(scope, limits, { digest: digestOf('d') })).toMatchObject({
      status: 'conflict',
      originalRequestId: requestId,
    })
    await limiter.refund(scope, requestId, digestOf('d'))
    expect(await ask(scope, limits)).toMatchObject({ status: 'admitted', dayUsed: 4, monthUsed: 7 })
    const tight = plan({ exposure: { floors: { corpus: 6 }, soft_share: 0.0001, hard_share: 0.0001 } })
    expect((await ask(scope, tight, { corpusPassages: 10 })).status).toBe('exposure')
  })
})

test('the limiter answers nothing while the store is away, and says so at once', async () => {
  const lost = openLimiter('redis://127.0.0.1:1/0', silent)
  try {
    await sleep(50)
    expect(lost.runId()).toBeUndefined()
    await expect(
      lost.admit(await createScope(), {
        requestId: randomUUID(),
        limits: plan(),
        corpusPassages: 1,
        idempotencyDigest: undefined,
        originalRequestId: undefined,
      }),
    ).rejects.toThrow()
  } finally {
    lost.close()
  }
})
