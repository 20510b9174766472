import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { planLimitsSchema } from '#core/domain/quota-plan.ts'
import { changeEntitlement } from '#operator/actions/entitlements.ts'
import { issueKeyFor } from '#operator/actions/api-keys.ts'
import { createPlan } from '#operator/actions/plans.ts'
import { parsePeppers } from '#core/credentials/settings.ts'
import { ABSTAINED_QUERY, type Caller } from '#test/support/caller.ts'
import { callsFor } from '#test/support/embedding-endpoint.ts'
import { asking, refuseHeld } from '#test/support/embedding-faults.ts'
import { OF_MIXED } from './mixed-corpus.ts'
import { admittedOf, age, loseCounters } from './counters.ts'
import { createCaller, providerUrl, service } from './service.ts'
import { isShed, outcomeOf, windowsOf } from './replies.ts'
import { expectEventually } from '#test/support/until.ts'

const RATE_LIMITED = [429, 'RATE_LIMITED']
const QUOTA_EXHAUSTED = [429, 'QUOTA_EXHAUSTED']

/** @throws when one of them is refused. */
async function asked(caller: Caller, times: number): Promise<void> {
  for (let n = 0; n < times; n++) (await caller.ask()).retrieved()
}

describe('Limits: the default plan is the beta plan of the specification', () => {
  test.each([
    ['Maximum top_k (plan cap)', 'max_top_k', 5],
    ['query length', 'max_query_characters', 4_000],
    ['Response size', 'max_response_bytes', 50_000],
    ['Request rate', 'requests_per_minute', 10],
    ['Concurrency', 'concurrency', 2],
    ['Daily allowance', 'requests_per_day', 250],
    ['Monthly allowance', 'requests_per_month', 5_000],
  ] as const)('%s: %s is %i', async (_, field, value) => {
    const stored = await createPlan(service.operator, { name: `default-${randomUUID()}` })
    expect([planLimitsSchema.parse({})[field], stored.limits[field]]).toEqual([value, value])
  })

  test('the plan holds these limits and exposure, and no other', () => {
    const named = [
      'max_top_k',
      'max_query_characters',
      'max_response_bytes',
      'requests_per_minute',
      'concurrency',
      'requests_per_day',
      'requests_per_month',
      'exposure',
    ]
    expect(Object.keys(planLimitsSchema.parse({})).sort()).toEqual(named.sort())
  })

  test('exposure: an eighth of a corpus at once, half of a document, and a part of both with each day', () => {
    expect(planLimitsSchema.parse({}).exposure).toEqual({
      window_days: 30,
      soft_share: 0.0625,
      hard_share: 0.125,
      daily_share: 0.0005,
      document_share: 0.5,
      document_daily_share: 0.01,
      test_share: 0.05,
      floors: { corpus: 300, document: 300, daily: 5 },
    })
  })
})

describe('Limits: rate', () => {
  test('the request past the quota of a minute is 429 RATE_LIMITED with Retry-After and RateLimit', async () => {
    const caller = await createCaller({ limits: { requests_per_minute: 3 } })
    await asked(caller, 3)
    const refused = await caller.ask()
    expect(outcomeOf(refused)).toEqual(RATE_LIMITED)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(30)
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(60)
    expect(windowsOf(refused).minute).toMatchObject({ quota: 3, window: 60, remaining: 0 })
  })

  test('any sliding 60 s: one slot opens when its own request is a minute old, the others stay taken', async () => {
    const caller = await createCaller({ limits: { requests_per_minute: 2 } })
    await asked(caller, 2)
    await age(caller, '59 seconds', 'first')
    await expectEventually(async () => (await caller.ask()).status, 200)
    expect(outcomeOf(await caller.ask())).toEqual(RATE_LIMITED)
  })

  test('an abstention uses a slot too', async () => {
    const caller = await createCaller({ limits: { requests_per_minute: 1 } })
    expect(outcomeOf(await caller.ask({ query: ABSTAINED_QUERY }))).toEqual([200, 'abstain'])
    expect(outcomeOf(await caller.ask())).toEqual(RATE_LIMITED)
  })
})

describe('Limits: concurrency', () => {
  test('at the concurrency limit the next request is 429 RATE_LIMITED; after one has ended it is served', async () => {
    const caller = await createCaller({ ...OF_MIXED, limits: { concurrency: 2 } })
    const marker = randomUUID()
    const held = [1, 2].map((n) => caller.ask({ query: asking('held', `${marker} ${n}`) }))
    await expectEventually(() => callsFor(providerUrl, marker), 2)
    const refused = await caller.ask()
    expect(outcomeOf(refused)).toEqual(RATE_LIMITED)
    await refuseHeld(providerUrl, marker)
    for (const answer of await Promise.all(held)) expect(outcomeOf(answer)).toEqual([503, 'RETRIEVAL_UNAVAILABLE'])
    expect((await caller.ask()).status).toBe(200)
  })

  test('a caller who hangs up stays charged, and the lease ends with the work', async () => {
    const caller = await createCaller({ ...OF_MIXED, limits: { concurrency: 1, requests_per_day: 10 } })
    const marker = randomUUID()
    const hangUp = new AbortController()
    const given = caller
      .ask({ query: asking('held', marker) }, { signal: hangUp.signal })
      .catch((error: unknown) => error)
    await expectEventually(() => callsFor(providerUrl, marker), 1)
    hangUp.abort()
    expect(await given).toBeInstanceOf(Error)
    await expectEventually(async () => (await caller.ask()).status, 200)
    expect(windowsOf(await caller.ask()).day.remaining).toBe(7)
    const { rows } = await service.owner.query<{ state: string }>(
      "select state from reservations where entitlement_id = $1 and state <> 'delivered'",
      [caller.entitlementId],
    )
    expect(rows).toEqual([{ state: 'failed' }])
  })
})

describe('Limits: day and month', () => {
  test('the daily allowance ends with 429 QUOTA_EXHAUSTED, which is not retryable', async () => {
    const caller = await createCaller({ limits: { requests_per_day: 2 } })
    await asked(caller, 2)
    const refused = await caller.ask()
    expect(outcomeOf(refused)).toEqual(QUOTA_EXHAUSTED)
    expect([refused.error().error.retryable, refused.headers.get('retry-after')]).toEqual([false, null])
    expect(windowsOf(refused).day).toMatchObject({ quota: 2, window: 86_400, remaining: 0 })
  })

  test('the monthly allowance ends with 429 QUOTA_EXHAUSTED', async () => {
    const caller = await createCaller({ limits: { requests_per_month: 2 } })
    await asked(caller, 2)
    expect(outcomeOf(await caller.ask())).toEqual(QUOTA_EXHAUSTED)
    expect(windowsOf(await caller.ask()).month.remaining).toBe(0)
  })

  test('a new UTC day brings a new daily allowance, a new month a new monthly one', async () => {
    const caller = await createCaller({ limits: { requests_per_day: 1, requests_per_month: 1 } })
    await asked(caller, 1)
    await age(caller, '40 days')
    await expectEventually(async () => (await caller.ask()).status, 200)
    expect(outcomeOf(await caller.ask())).toEqual(QUOTA_EXHAUSTED)
  })

  test('day and month are UTC calendar periods: RateLimit says when they end', async () => {
    const windows = windowsOf(await (await createCaller()).ask())
    const now = new Date()
    const secondsTo = (endMs: number): number => (endMs - now.getTime()) / 1_000
    expect(windows.day.reset).toBeCloseTo(
      secondsTo(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 1)),
      -1,
    )
    expect(windows.month.reset).toBeCloseTo(secondsTo(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)), -1)
  })

  test('answer and abstain are charged', async () => {
    const caller = await createCaller({ limits: { requests_per_day: 10, requests_per_month: 20 } })
    await caller.ask()
    const windows = windowsOf(await caller.ask({ query: ABSTAINED_QUERY }))
    expect([windows.day.remaining, windows.month.remaining]).toEqual([8, 18])
  })

  test('there is no automatic overage: of many at once exactly the allowance is served', async () => {
    const caller = await createCaller({ limits: { requests_per_day: 5 } })
    const answers = await Promise.all(Array.from({ length: 20 }, () => caller.ask()))
    const outcomes = answers.filter((answer) => !isShed(answer)).map(outcomeOf)
    expect(outcomes.filter(([status]) => status === 200)).toHaveLength(5)
    expect(outcomes.filter(([, code]) => code === 'QUOTA_EXHAUSTED')).toHaveLength(outcomes.length - 5)
  })
})

describe('Limits: what counts together', () => {
  test('all keys of an entitlement count together', async () => {
    const caller = await createCaller({ limits: { requests_per_day: 2 } })
    const second = await issueKeyFor(service.operator, {
      client: caller.client,
      environment: 'live',
      peppers: parsePeppers(service.settings.secrets.KEY_PEPPERS),
    })
    expect([(await caller.ask()).status, (await caller.ask({}, { key: second.key })).status]).toEqual([200, 200])
    expect(outcomeOf(await caller.ask({}, { key: second.key }))).toEqual(QUOTA_EXHAUSTED)
  })

  test('a change of plan gives no fresh allowance', async () => {
    const caller = await createCaller({ limits: { requests_per_day: 3 } })
    await asked(caller, 2)
    const name = `${caller.client} other`
    await createPlan(service.operator, { name, limits: { requests_per_day: 2 } })
    await changeEntitlement(service.operator, caller.entitlement, { plan: name })
    await expectEventually(async () => outcomeOf(await caller.ask()), QUOTA_EXHAUSTED)
  })

  test('another client of the organization has its own', async () => {
    const caller = await createCaller({ limits: { requests_per_day: 1 } })
    const other = await createCaller({ organization: caller.organization, limits: { requests_per_day: 1 } })
    await asked(caller, 1)
    expect((await other.ask()).status).toBe(200)
  })

  test('counters that were lost are rebuilt from the reservations before anything is admitted', async () => {
    const caller = await createCaller({ limits: { requests_per_day: 3, requests_per_month: 5 } })
    await asked(caller, 2)
    await loseCounters(caller)
    const windows = windowsOf(await caller.ask())
    expect([windows.day.remaining, windows.month.remaining]).toEqual([0, 2])
    expect(outcomeOf(await caller.ask())).toEqual(QUOTA_EXHAUSTED)
  })
})

describe('Limits: a refused request consumes nothing', () => {
  test.each([
    ['for its rate', { requests_per_minute: 1 }],
    ['for its allowance', { requests_per_day: 1 }],
  ])('%s', async (_, limits) => {
    const caller = await createCaller({ limits: { requests_per_month: 50, ...limits } })
    const before = windowsOf(await caller.ask())
    for (let n = 0; n < 3; n++)
      expect((await caller.ask({}, { headers: { 'idempotency-key': randomUUID() } })).status).toBe(429)
    const after = windowsOf(await caller.ask())
    expect([after.minute.remaining, after.day.remaining, after.month.remaining]).toEqual([
      before.minute.remaining,
      before.day.remaining,
      before.month.remaining,
    ])
    expect(await admittedOf(caller)).toBe(1)
  })

  test('a request refused for its concurrency takes no minute slot either', async () => {
    const caller = await createCaller({ ...OF_MIXED, limits: { concurrency: 1, requests_per_minute: 10 } })
    const marker = randomUUID()
    const held = caller.ask({ query: asking('held', marker) })
    await expectEventually(() => callsFor(providerUrl, marker), 1)
    for (let n = 0; n < 3; n++) expect((await caller.ask()).status).toBe(429)
    await refuseHeld(providerUrl, marker)
    await held
    expect(windowsOf(await caller.ask()).minute.remaining).toBe(8)
  })

  test('requests outside the schema or the entitlement count nowhere', async () => {
    const caller = await createCaller({ limits: { requests_per_day: 10 } })
    await caller.ask({ top_k: 0 })
    await caller.ask({ filters: { language: ['de'] } })
    await caller.ask({ knowledge_base: 'unknown' })
    expect(windowsOf(await caller.ask()).day.remaining).toBe(9)
  })

  test('limits are enforced before paid work: the provider hears of no refused request', async () => {
    const caller = await createCaller({ ...OF_MIXED, limits: { requests_per_minute: 1 } })
    await caller.ask()
    const marker = randomUUID()
    expect((await caller.ask({ query: marker })).status).toBe(429)
    await sleep(100)
    expect(await callsFor(providerUrl, marker)).toBe(0)
  })
})
