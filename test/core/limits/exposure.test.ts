import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { PlanLimits } from '#core/domain/quota-plan.ts'
import { exposureKey, tag } from '#core/limits/counter-keys.ts'
import type { LimitScope } from '#core/limits/counter-keys.ts'
import { EPOCH, MANY, WINDOW_MS, openTestCounters, passages, plan } from './test-counters.ts'

const { ask, createScope, redis, serve } = await openTestCounters()

describe('extraction exposure', () => {
  test('past the soft mark the rate is reduced, past the hard mark it is 0; both count distinct passages', async () => {
    const scope = await createScope()
    const limits = plan({
      requests_per_minute: 10,
      exposure: { soft_share: 0.1, hard_share: 0.2, floors: { corpus: 1, document: 1_000, run: 1_000 }, run: 1_000 },
    })
    const corpus = { corpusPassages: 100 }
    await serve(scope, limits, passages('a', 0, 9))
    await serve(scope, limits, passages('a', 0, 9))
    expect(await ask(scope, limits, corpus)).toMatchObject({ status: 'admitted', rateInForce: 10 })
    await serve(scope, limits, passages('b', 0, 1))
    expect(await ask(scope, limits, corpus)).toMatchObject({ status: 'admitted', rateInForce: 2 })
    expect(await ask(scope, limits, corpus)).toMatchObject({ status: 'rate' })
    await serve(scope, limits, passages('c', 0, 10))
    expect((await ask(scope, limits, corpus)).status).toBe('exposure')
  })

  test('the floor wins over a smaller share', async () => {
    const scope = await createScope()
    const limits = plan({ exposure: { soft_share: 0.01, hard_share: 0.01 } })
    await serve(scope, limits, passages('a', 0, 30))
    expect(await ask(scope, limits, { corpusPassages: 100 })).toMatchObject({ status: 'admitted', rateInForce: 1_000 })
  })

  test('it is shared by all entitlements of an organization to the knowledge base', async () => {
    const scope = await createScope()
    const limits = plan({ exposure: { floors: { corpus: 5 }, soft_share: 0.0001, hard_share: 0.0001 } })
    await serve(scope, limits, passages('a', 0, 5))
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
    await serve(scope, limits, [
      ...passages('a', 0, 1, 20),
      ...passages('a', 2, 1, 20),
      ...passages('a', 4, 1, 20),
      ...passages('a', 6, 1, 20),
    ])
    expect((await ask(scope, limits)).status).toBe('admitted')
    for (let ordinal = 8; ordinal < 20; ordinal += 2) await serve(scope, limits, passages('a', ordinal, 1, 20))
    expect((await ask(scope, limits)).status).toBe('exposure')
    const document = `${exposureKey(scope.organizationId, EPOCH, scope.knowledgeBaseId)}:document:a`
    for (const member of await redis.zrange(document, '0', '0'))
      await redis.zadd(document, String(Date.now() - 31 * 86_400_000), member)
    expect((await ask(scope, limits)).status).toBe('admitted')
  })

  test('a run of neighbours stops it, wherever the run is closed', async () => {
    const scope = await createScope()
    const limits = plan({ exposure: { run: 5, floors: { run: 5 } } })
    await serve(scope, limits, [...passages('a', 10, 2), ...passages('a', 13, 2)])
    expect((await ask(scope, limits)).status).toBe('admitted')
    await serve(scope, limits, passages('a', 12, 1))
    expect((await ask(scope, limits)).status).toBe('exposure')
  })
})

test('passages of one reply count as if they were served one after the other, in any order', async () => {
  const limits = plan()
  const served = fc.array(fc.record({ document: fc.constantFrom('a', 'b'), ordinal: fc.nat({ max: 12 }) }), {
    minLength: 1,
    maxLength: 8,
  })
  await fc.assert(
    fc.asyncProperty(served, async (places) => {
      const reply = places.flatMap(({ document, ordinal }) => passages(document, ordinal, 1))
      const [together, apart] = [await createScope(), await createScope()]
      await serve(together, limits, reply)
      for (const passage of reply) await serve(apart, limits, [passage])
      expect(await exposureOf(together)).toEqual(await exposureOf(apart))
    }),
  )
})

/** Members of the sorted sets with their bounds, and of the others alone: their scores are instants. */
async function exposureOf(scope: LimitScope): Promise<unknown> {
  const root = exposureKey(scope.organizationId, EPOCH, scope.knowledgeBaseId)
  return {
    chunks: (await redis.zrange(root, '0', '-1')).sort(),
    totals: await redis.hgetall(`${root}:totals`),
    documents: await redis.zrange(`${root}:documents`, '0', '-1', 'WITHSCORES'),
    runs: await redis.zrange(`${root}:runs`, '0', '-1', 'WITHSCORES'),
  }
}

test('what was served is kept for the whole window after it was last served, and at most an hour longer', async () => {
  const scope = await createScope()
  const root = exposureKey(scope.organizationId, EPOCH, scope.knowledgeBaseId)
  const bases = `${tag(scope.organizationId)}:${EPOCH}:bases`
  const keys = [root, ...[':totals', ':documents', ':runs', ':document:a'].map((end) => root + end), bases]
  const expectKept = async (): Promise<void> => {
    for (const key of keys) {
      const leftMs = await redis.pttl(key)
      expect(leftMs, key).toBeGreaterThanOrEqual(WINDOW_MS - HOUR_MS / 60)
      expect(leftMs, key).toBeLessThanOrEqual(WINDOW_MS + HOUR_MS)
    }
  }
  await serve(scope, plan(), passages('a', 0, 2))
  await expectKept()
  for (const key of keys) await redis.pexpire(key, WINDOW_MS - HOUR_MS)
  await serve(scope, plan(), passages('a', 0, 1))
  await expectKept()
})
const HOUR_MS = 3_600_000

test('what left the window is removed when the window is kept anew', async () => {
  const scope = await createScope()
  const root = exposureKey(scope.organizationId, EPOCH, scope.knowledgeBaseId)
  await serve(scope, plan(), passages('a', 0, 2))
  await redis.zadd(root, String(Date.now() - WINDOW_MS - HOUR_MS), 'a-0')
  await redis.pexpire(root, WINDOW_MS - HOUR_MS)
  await serve(scope, plan(), passages('a', 1, 1))
  expect(await redis.zrange(root, '0', '-1')).toEqual(['a-1'])
})

test('each plan counts its own window: a shorter one forgets nothing that a longer one counts', async () => {
  const scope = await createScope()
  const marks = { floors: { corpus: 5, document: MANY, run: MANY }, soft_share: 0.000_1, hard_share: 0.000_1 }
  const month = plan({ exposure: { ...marks, window_days: 30 } })
  const day = plan({ exposure: { ...marks, window_days: 1 } })
  const corpus = { corpusPassages: 10 }
  await serve(scope, month, passages('a', 0, 5))
  expect((await ask(scope, day, corpus)).status).toBe('exposure')
  const root = exposureKey(scope.organizationId, EPOCH, scope.knowledgeBaseId)
  for (const chunk of await redis.zrange(root, '0', '-1'))
    await redis.zadd(root, String(Date.now() - 2 * 86_400_000), chunk)
  expect((await ask({ ...scope, entitlementId: randomUUID() }, day, corpus)).status).toBe('admitted')
  expect((await ask(scope, month, corpus)).status).toBe('exposure')
  expect((await ask(scope, plan({ exposure: { ...marks, window_days: 31 } }), corpus)).status).toBe('stale')
})

test('a document that reaches the mark of one plan stops its clients, not those of a laxer plan', async () => {
  const scope = await createScope()
  const strict = plan({ exposure: { document_share: 0.000_1, floors: { document: 3 } } })
  const lax = plan({ exposure: { document_share: 0.000_1, floors: { document: 4 } } })
  await serve(scope, lax, [...passages('a', 0, 1), ...passages('a', 5, 1), ...passages('a', 9, 1)])
  expect([(await ask(scope, lax)).status, (await ask(scope, strict)).status]).toEqual(['admitted', 'exposure'])
})

test('Retry-After of a mark ends when as many passages have left as are above it', async () => {
  const scope = await createScope()
  const hour = 3_600_000
  const shared = plan({ exposure: { document_share: 0.000_1, floors: { document: 5 } } })
  const runs = plan({ exposure: { run: 3, floors: { run: 3 } } })
  await serve(scope, shared, [...passages('a', 0, 4), ...passages('a', 10, 3), ...passages('a', 20, 2)])
  const document = `${exposureKey(scope.organizationId, EPOCH, scope.knowledgeBaseId)}:document:a`
  const agoHours: Readonly<Record<string, number>> = { 0: 9, 1: 8, 2: 7, 3: 6, 10: 5, 11: 4, 12: 3, 20: 2, 21: 1 }
  const now = Date.now()
  for (const [ordinal, hours] of Object.entries(agoHours))
    await redis.zadd(document, String(now - hours * hour), `r-a:${ordinal}`)
  const hoursUntil = async (limits: PlanLimits): Promise<number> => {
    const { status, retryAfterMs } = await ask(scope, limits)
    expect(status).toBe('exposure')
    return Math.round((WINDOW_MS - retryAfterMs) / hour)
  }
  // Nine are served and four may stay, so the fifth oldest must leave.
  expect(await hoursUntil(shared)).toBe(5)
  // The run of four breaks with its second, the run of three with its first; the later one counts.
  expect(await hoursUntil(runs)).toBe(5)
})
