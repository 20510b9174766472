import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Caller } from '#test/support/caller.ts'
import { callsFor } from '#test/support/embedding-endpoint.ts'
import { asking, type ProviderBehaviour } from '#test/support/embedding-faults.ts'
import { OF_MIXED } from './mixed-corpus.ts'
import { loseCounters } from './counters.ts'
import { createCaller, providerTokens, providerUrl, service } from './service.ts'
import { outcomeOf, windowsOf } from './replies.ts'

const QUERY = 'How many ravens live in the keep of the customs tower?'
const UNAVAILABLE = [503, 'RETRIEVAL_UNAVAILABLE']

let caller: Caller
beforeAll(async () => {
  caller = await createCaller(OF_MIXED)
  // Until the endpoint has answered once, a refusal may be due to the format that it is asked for.
  expect((await caller.ask(treated('good'))).status).toBe(200)
})

/** The query as the provider sees it, different every time. */
const treated = (behaviour: ProviderBehaviour): { readonly query: string } => ({
  query: asking(behaviour, `${QUERY} ${randomUUID()}`),
})

describe('usage.query_embedding_tokens', () => {
  test('is what the provider reports', async () => {
    expect((await caller.ask(treated('good'))).retrieved().usage.query_embedding_tokens).toBe(providerTokens)
  })

  test.each(['no-usage', 'usage-text', 'usage-negative'] as const)(
    'is null when the provider reports no number: %s',
    async (behaviour) => {
      expect((await caller.ask(treated(behaviour))).retrieved().usage.query_embedding_tokens).toBeNull()
    },
  )
})

describe('Errors that are not the caller’s: the embedding provider', () => {
  test.each([
    'short-vector',
    'long-vector',
    'null-values',
    'text-values',
    'infinite-values',
    'zero-vector',
    'no-vector',
    'two-vectors',
    'wrong-index',
  ] as const)('a vector that cannot be trusted is 503 RETRIEVAL_UNAVAILABLE: %s', async (behaviour) => {
    expect(outcomeOf(await caller.ask(treated(behaviour)))).toEqual(UNAVAILABLE)
  })

  test.each([
    'status-400',
    'status-401',
    'status-429',
    'status-500',
    'reset',
    'not-json',
    'echo',
    'hang',
    'drip',
  ] as const)('503 RETRIEVAL_UNAVAILABLE, never an abstention or an empty 200: %s', async (behaviour) => {
    expect(outcomeOf(await caller.ask(treated(behaviour)))).toEqual(UNAVAILABLE)
  })

  test.each(['flaky-429', 'flaky-500', 'flaky-reset'] as const)(
    'a passing failure is retried: %s',
    async (behaviour) => {
      const body = treated(behaviour)
      expect((await caller.ask(body)).status).toBe(200)
      expect(await callsFor(providerUrl, body.query)).toBe(3)
    },
  )

  test.each(['status-400', 'status-401', 'short-vector'] as const)('what cannot pass is not: %s', async (behaviour) => {
    const body = treated(behaviour)
    await caller.ask(body)
    expect(await callsFor(providerUrl, body.query)).toBe(1)
  })

  test.each(['status-429', 'status-500', 'reset'] as const)('retries are bounded: %s', async (behaviour) => {
    const body = treated(behaviour)
    await caller.ask(body)
    expect(await callsFor(providerUrl, body.query)).toBe(3)
  })

  // How long it lasts is a matter of test/gateway/dependencies.test.ts: a 200 of any file that runs beside this one ends it.
  test('Retry-After is what the provider asks for, up to a minute, and a second after a 200', async () => {
    const waits: (string | null)[] = []
    for (const behaviour of ['asks-for-90-s', 'good', 'status-400'] as const)
      waits.push((await caller.ask(treated(behaviour))).headers.get('retry-after'))
    expect(waits).toEqual(['60', null, '1'])
  })

  test('a query that is refused for its length is embedded in windows by one more call', async () => {
    const mark = randomUUID()
    const query = asking('status-413', `${mark} ${QUERY} ${'And is a raven a bird? '.repeat(30)}`)
    expect((await caller.ask({ query })).status).toBe(200)
    expect(await callsFor(providerUrl, mark)).toBe(2)
  })

  test('a failing provider does not touch a knowledge base that is embedded locally', async () => {
    const local = await createCaller()
    expect((await local.ask(treated('status-500'))).status).toBe(200)
  })
})

describe('Limits: a 503 after admission is refunded', () => {
  test('day, month and the idempotency key are restored, the minute slot is not', async () => {
    const one = await createCaller({
      ...OF_MIXED,
      limits: { requests_per_minute: 10, requests_per_day: 10, requests_per_month: 20 },
    })
    const key = { headers: { 'idempotency-key': randomUUID() } }
    expect(outcomeOf(await one.ask(treated('status-400'), key))).toEqual(UNAVAILABLE)
    const served = await one.ask({}, key)
    expect(served.status).toBe(200)
    const { minute, day, month } = windowsOf(served)
    expect([minute.remaining, day.remaining, month.remaining]).toEqual([8, 9, 19])
  })

  test('refunds per day are capped at the daily allowance: what fails beyond it stays charged', async () => {
    const one = await createCaller({ ...OF_MIXED, limits: { requests_per_day: 3 } })
    for (let n = 0; n < 3; n++) expect(outcomeOf(await one.ask(treated('status-400')))).toEqual(UNAVAILABLE)
    expect(windowsOf(await one.ask(treated('status-400'))).day.remaining).toBe(2)
    expect(windowsOf(await one.ask()).day.remaining).toBe(1)
    const { rows } = await service.owner.query<{ state: string; count: number }>(
      'select state, count(*)::int as count from reservations where entitlement_id = $1 group by state order by state',
      [one.entitlementId],
    )
    expect(rows).toEqual([
      { state: 'delivered', count: 1 },
      { state: 'failed', count: 1 },
      { state: 'refunded', count: 3 },
    ])
  })

  test('the refund stands when the counters are counted anew', async () => {
    const one = await createCaller({ ...OF_MIXED, limits: { requests_per_minute: 10, requests_per_day: 10 } })
    await one.ask(treated('status-400'))
    await loseCounters(one)
    const { minute, day } = windowsOf(await one.ask())
    expect([minute.remaining, day.remaining]).toEqual([8, 9])
  })
})
