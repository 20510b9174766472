import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { exposureLevel, exposureMarks, exposureOpensOn } from '#core/domain/exposure.ts'
import { exposureKey, stopsSuffix, tag, type LimitScope } from '#core/limits/counter-keys.ts'
import { EPOCH, MANY, WINDOW_MS, openTestCounters, passages, plan } from './test-counters.ts'

const { ask: charge, counters, createScope, end, redis, serve, setNow } = await openTestCounters()

/** A lease would be overdue once the clock moves. */
const ask: typeof charge = async (scope, limits, more) => {
  const requestId = randomUUID()
  const decision = await charge(scope, limits, { ...more, requestId })
  if (decision.status === 'admitted') await end(scope, requestId, 'fail')
  return decision
}

const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000
/** A midnight. */
const BEGIN_MS = 20_800 * DAY_MS
const rootOf = (scope: LimitScope): string => exposureKey(scope.organizationId, EPOCH, scope)
const stopsKeyOf = (scope: LimitScope): string => `${tag(scope.organizationId)}:${EPOCH}:${stopsSuffix(scope)}`
/** Marks that are never reached, except the given ones. */
const marks = (floors: { corpus?: number; document?: number; daily?: number }, more: object = {}): object => ({
  exposure: {
    soft_share: 0.000_001,
    hard_share: 0.000_001,
    daily_share: 0.000_001,
    document_share: 0.000_001,
    document_daily_share: 0.000_001,
    floors: { corpus: MANY, document: MANY, daily: 1, ...floors },
    ...more,
  },
})

describe('extraction exposure', () => {
  test('past the soft mark the rate is a fifth, past the hard mark it is 0; both count distinct passages', async () => {
    const scope = await createScope()
    const limits = plan({
      requests_per_minute: 10,
      exposure: { soft_share: 0.1, hard_share: 0.2, floors: { corpus: 1, document: 1_000 } },
    })
    const corpus = { corpusPassages: 100 }
    await serve(scope, limits, passages('a', 0, 9))
    await serve(scope, limits, passages('a', 0, 9))
    expect(await ask(scope, limits, corpus)).toMatchObject({ status: 'admitted', rateInForce: 10 })
    await serve(scope, limits, passages('b', 0, 1))
    expect(await ask(scope, limits, corpus)).toMatchObject({ status: 'admitted', rateInForce: 2 })
    expect(await ask(scope, limits, corpus)).toMatchObject({ status: 'rate', exposed: { id: '' } })
    await serve(scope, limits, passages('c', 0, 10))
    expect((await ask(scope, limits, corpus)).status).toBe('exposure')
  })

  test('under the default plan a corpus of 300 passages never stops, and slows down from 60', async () => {
    const scope = await createScope()
    const corpus = { corpusPassages: 300 }
    await serve(scope, plan(), passages('a', 0, 59, 300))
    expect(await ask(scope, plan(), corpus)).toMatchObject({ status: 'admitted', rateInForce: 1_000 })
    await serve(scope, plan(), passages('a', 59, 240, 300))
    expect(await ask(scope, plan(), corpus)).toMatchObject({
      status: 'admitted',
      rateInForce: 200,
      stoppedDocuments: [],
    })
  })

  test('all entitlements of an organization share it, but no knowledge bases, and no environments', async () => {
    const scope = await createScope()
    const limits = plan(marks({ corpus: 5 }))
    await serve(scope, limits, passages('a', 0, 5))
    const other = { ...scope, entitlementId: randomUUID(), clientId: randomUUID() }
    expect((await ask(other, limits)).status).toBe('exposure')
    expect((await ask({ ...scope, knowledgeBaseId: randomUUID() }, limits)).status).toBe('admitted')
    const testing = { ...scope, environment: 'test', entitlementId: randomUUID() }
    expect((await ask(testing, limits)).status).toBe('admitted')
    await serve(testing, limits, passages('b', 0, 1))
    expect((await ask(testing, limits)).status).toBe('exposure')
  })

  test('a document at its mark is named with the day on which it opens; other requests are admitted', async () => {
    const scope = await createScope()
    await setNow(BEGIN_MS + HOUR_MS)
    const limits = plan(marks({ document: 4 }, { soft_share: 0.000_000_5 }))
    await serve(scope, limits, [...passages('a', 0, 3), ...passages('b', 0, 1)])
    expect(await ask(scope, limits)).toMatchObject({ status: 'admitted', rateInForce: 200, stoppedDocuments: [] })
    await serve(scope, limits, passages('a', 10, 3))
    expect(await ask(scope, limits)).toMatchObject({
      status: 'admitted',
      stoppedDocuments: [{ id: 'a', opensAtMs: BEGIN_MS + 3 * DAY_MS }],
    })
    await setNow(BEGIN_MS + 3 * DAY_MS)
    expect(await ask(scope, limits)).toMatchObject({ status: 'admitted', stoppedDocuments: [] })
  })

  test('a raise adds to every mark', async () => {
    const scope = await createScope()
    const limits = plan(marks({ corpus: 5, document: 5 }))
    await serve(scope, limits, passages('a', 0, 5))
    expect(await ask(scope, limits, { exposureAllowance: 1 })).toMatchObject({
      status: 'admitted',
      stoppedDocuments: [],
    })
    await serve(scope, limits, passages('a', 5, 1))
    expect((await ask(scope, limits, { exposureAllowance: 1 })).status).toBe('exposure')
  })
})

describe('a burst', () => {
  const TOP_K = 10
  /** Admits as many as it may at once, and delivers as many new passages of a document as each may serve. */
  async function burst(scope: LimitScope, limits: ReturnType<typeof plan>, document: string): Promise<number> {
    const asked = Array.from({ length: 40 }, (_, n) => ({
      by: { ...scope, clientId: `client-${n % 2}`, entitlementId: `entitlement-${n % 2}` },
      requestId: randomUUID(),
      from: n * TOP_K,
    }))
    let served = 0
    const admitted = await Promise.all(
      asked.map(async (one) => ({ ...one, ...(await charge(one.by, limits, { ...one, topK: TOP_K })) })),
    )
    for (const { by, requestId, from, status, stoppedDocuments } of admitted) {
      if (status !== 'admitted') continue
      if (stoppedDocuments.some(({ id }) => id === document)) await end(by, requestId, 'refund')
      else {
        const passagesOf = passages(document, served + from, TOP_K)
        await counters.settle(by, { requestId, ending: 'deliver', idempotencyDigest: undefined, served: passagesOf })
        served += TOP_K
      }
    }
    return served
  }

  test('takes less than top_k beyond a mark, whichever it is, and the rest of the mark is free again', async () => {
    for (const mark of ['corpus', 'document'] as const) {
      const scope = await createScope()
      const limits = plan(marks({ [mark]: 25 }))
      expect(await burst(scope, limits, 'a')).toBe(30)
      expect(await burst(scope, limits, 'a')).toBe(0)
      expect(await burst(scope, plan(marks({})), 'b')).toBe(400)
      expect(await redis.hgetall(`${rootOf(scope)}:reserved`)).toEqual({})
    }
  })

  test('what a request under way may serve is given back, however it ends', async () => {
    const scope = await createScope()
    const limits = plan(marks({ corpus: 10 }))
    for (const ending of ['fail', 'refund', 'undo'] as const) {
      const requestId = randomUUID()
      expect((await charge(scope, limits, { requestId, topK: TOP_K })).status).toBe('admitted')
      expect(await charge(scope, limits)).toMatchObject({ status: 'concurrency', retryAfterMs: 1_000 })
      await end(scope, requestId, ending)
    }
    expect((await ask(scope, limits)).status).toBe('admitted')
  })
})

test('stops after paid work close admission from the second within an hour, for a time that doubles', async () => {
  const scope = await createScope()
  const stopped = { id: 'a', opensAtMs: BEGIN_MS + DAY_MS }
  let nowMs = BEGIN_MS
  const stop = async (): Promise<number> => {
    await setNow(nowMs)
    const requestId = randomUUID()
    expect((await charge(scope, plan(), { requestId })).status).toBe('admitted')
    await end(scope, requestId, 'refund', undefined, stopped)
    const { status, retryAfterMs, exposed } = await ask(scope, plan())
    if (status === 'admitted') return 0
    expect({ status, exposed }).toEqual({ status: 'exposure', exposed: stopped })
    for (const other of [{ clientId: 'c' }, { environment: 'test' }, { knowledgeBaseId: 'k' }])
      expect((await ask({ ...scope, ...other }, plan())).status).toBe('admitted')
    nowMs += retryAfterMs
    return retryAfterMs / 1_000
  }
  const seconds: number[] = []
  for (let n = 0; n < 12; n++) seconds.push(await stop())
  expect(seconds).toEqual([0, 10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 3_600, 3_600])
  // An hour without one.
  await redis.del(stopsKeyOf(scope))
  expect(await stop()).toBe(0)
  expect(await redis.pttl(stopsKeyOf(scope))).toBeGreaterThan(HOUR_MS - 10_000)
})

test('admission decides by the level that the domain states, in every order of days', async () => {
  const windows = { corpus: 8, daily: 2 }
  const limits = plan(marks(windows, { window_days: 4 }))
  const { corpus } = exposureMarks(limits.exposure, {
    environment: 'live',
    corpusPassages: 100_000,
    exposureAllowance: 0,
  })
  const days = fc.array(fc.record({ after: fc.nat({ max: 3 }), passages: fc.integer({ min: 1, max: 6 }) }), {
    minLength: 1,
    maxLength: 8,
  })
  await fc.assert(
    fc.asyncProperty(days, async (steps) => {
      const scope = await createScope()
      const newOnDay = new Map<number, number>()
      let [day, next] = [BEGIN_MS / DAY_MS, 0]
      for (const { after, passages: count } of steps) {
        day += after
        await setNow(day * DAY_MS + HOUR_MS)
        await serve(scope, limits, passages('a', next, count))
        next += count
        newOnDay.set(day, (newOnDay.get(day) ?? 0) + count)
        const level = exposureLevel(newOnDay, day, 4, corpus.daily)
        const decision = await ask(scope, limits)
        expect(decision.status).toBe(level >= corpus.hard ? 'exposure' : 'admitted')
        const opensOn = exposureOpensOn(newOnDay, day, 4, corpus)
        expect(decision.retryAfterMs).toBe(level >= corpus.hard ? (opensOn - day) * DAY_MS - HOUR_MS : 0)
      }
    }),
  )
})

test('passages of one reply count as if they were served one after the other, in any order', async () => {
  const limits = plan()
  await setNow(BEGIN_MS)
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

async function exposureOf(scope: LimitScope): Promise<unknown> {
  const root = rootOf(scope)
  return {
    chunks: await redis.zrange(root, '0', '-1', 'WITHSCORES'),
    days: await redis.hgetall(`${root}:days`),
    documents: await redis.zrange(`${root}:documents`, '0', '-1', 'WITHSCORES'),
    document: await redis.hgetall(`${root}:document:a`),
  }
}

test('what was served is kept for the window and a day, and at most an hour longer', async () => {
  const scope = await createScope()
  const root = rootOf(scope)
  const bases = `${tag(scope.organizationId)}:${EPOCH}:bases`
  const keys = [root, ...[':days', ':documents', ':document:a'].map((suffix) => root + suffix), bases]
  const keptMs = WINDOW_MS + DAY_MS
  const expectKept = async (): Promise<void> => {
    for (const key of keys) {
      const leftMs = await redis.pttl(key)
      expect(leftMs, key).toBeGreaterThanOrEqual(keptMs - HOUR_MS / 60)
      expect(leftMs, key).toBeLessThanOrEqual(keptMs + HOUR_MS)
    }
  }
  await serve(scope, plan(), passages('a', 0, 2))
  await expectKept()
  for (const key of keys) await redis.pexpire(key, WINDOW_MS)
  await serve(scope, plan(), passages('a', 2, 1))
  await expectKept()
})

test('what left the window is removed when the window is kept anew', async () => {
  const scope = await createScope()
  const root = rootOf(scope)
  await setNow(BEGIN_MS)
  await serve(scope, plan(), passages('a', 0, 2))
  await setNow(BEGIN_MS + 32 * DAY_MS)
  await redis.pexpire(root, WINDOW_MS)
  await serve(scope, plan(), passages('a', 1, 1))
  expect(await redis.zrange(root, '0', '-1')).toEqual(['a-1'])
  expect(await redis.hgetall(`${root}:days`)).toEqual({ [BEGIN_MS / DAY_MS + 32]: '1' })
})

test('each plan counts its own window: a shorter one forgets nothing that a longer one counts', async () => {
  const scope = await createScope()
  const month = plan(marks({ corpus: 5 }, { window_days: 30 }))
  const day = plan(marks({ corpus: 5 }, { window_days: 1 }))
  await setNow(BEGIN_MS)
  await serve(scope, month, passages('a', 0, 7))
  expect((await ask(scope, day)).status).toBe('exposure')
  await setNow(BEGIN_MS + 2 * DAY_MS)
  expect((await ask({ ...scope, entitlementId: randomUUID() }, day)).status).toBe('admitted')
  expect((await ask(scope, month)).status).toBe('exposure')
  expect((await ask(scope, plan(marks({}, { window_days: 31 })))).status).toBe('stale')
})
