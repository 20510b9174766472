import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parsePeppers } from '#core/credentials/settings.ts'
import { issueKeyFor } from '#operator/actions/api-keys.ts'
import type { Answer } from '#test/support/http.ts'
import { ANSWERED_QUERY, startTestService, type Caller, type TestService } from '#test/support/service.ts'
import { remaining, settledLedgerRows, type LedgerRow } from '#test/support/ledger.ts'
import { arrivalOf, startTestProvider, type TestProvider } from '#test/support/embedding-endpoint.ts'
import { until } from '#test/support/until.ts'

const REQUESTS = 200
const CONCURRENCY = 2
const MINUTE_MS = 60_000

let provider: TestProvider
let service: TestService
beforeAll(async () => {
  provider = await startTestProvider()
  service = await startTestService({
    gateways: 2,
    searchNodes: 2,
    embedding: 'openai',
    environment: provider.environment,
  })
})
afterAll(async () => {
  await service?.stop()
  await provider?.stop()
})

/** Two keys of one entitlement at two gateways: request `n` takes one of the four paths. */
async function fourPaths(caller: Caller): Promise<(n: number, headers?: Record<string, string>) => Promise<Answer>> {
  const second = await issueKeyFor(service.operator, {
    client: caller.client,
    environment: 'live',
    peppers: parsePeppers(service.settings.secrets.KEY_PEPPERS),
  })
  const keys = [caller.key, second.key]
  return (n, headers = {}) =>
    caller.ask({}, { baseUrl: service.gateways[n % 2]?.baseUrl ?? '', key: keys[(n >> 1) % 2], headers })
}

/** Times at which the caller's requests were admitted, by the clock of the limits, in order. */
async function admissionsOf(caller: Caller): Promise<readonly number[]> {
  const { rows } = await service.owner.query<{ admitted_at: Date }>(
    'select admitted_at from reservations where entitlement_id = $1 order by admitted_at',
    [caller.entitlementId],
  )
  return rows.map(({ admitted_at }) => admitted_at.getTime())
}

/** By the plan, or, on a busy machine, before the plan is asked by a gateway that would answer too late. */
function assertRefused(answer: Answer): void {
  const { code } = answer.error().error
  expect([code, answer.headers.has('ratelimit')]).toEqual([code, code === 'RATE_LIMITED'])
  expect(['RATE_LIMITED', 'INTERNAL_UNAVAILABLE']).toContain(code)
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
}

/** Every 200 is one charged entry with the bytes and passages that were sent, and nothing else was charged. */
function assertLedgerMatches(ledger: readonly LedgerRow[], delivered: readonly Answer[]): void {
  const replies = delivered.map((answer) => answer.retrieved())
  expect(ledger.map(({ request_id }) => request_id).toSorted()).toEqual(
    replies.map(({ request_id }) => request_id).toSorted(),
  )
  expect(ledger.every(({ entry, charged }) => entry === 'delivered' && charged === true)).toBe(true)
  const sum = (numbers: readonly (number | null)[]): number =>
    numbers.reduce<number>((total, number) => total + (number ?? 0), 0)
  expect(sum(ledger.map(({ response_bytes }) => response_bytes))).toBe(sum(delivered.map(({ bytes }) => bytes.length)))
  expect(sum(ledger.map(({ result_count }) => result_count))).toBe(sum(replies.map(({ results }) => results.length)))
}

test(
  '200 requests at once under a concurrency of 2, over two gateways and two keys, never have 3 in ' +
    'flight, and each 200 is one charged ledger row',
  async () => {
    const caller = await service.createCaller({ limits: { concurrency: CONCURRENCY, requests_per_minute: 1_000 } })
    const send = await fourPaths(caller)
    provider.resetOverlap()
    const held = provider.hold(ANSWERED_QUERY)
    let answered = 0
    const sending = Array.from({ length: REQUESTS }, (_, n) => send(n).finally(() => answered++))
    await until('as many as the plan allows are in flight, and all others are refused', (seen) => {
      seen([provider.overlap.most, answered])
      return provider.overlap.most >= CONCURRENCY && answered + provider.overlap.most >= REQUESTS
    })
    held.release()
    const answers = await Promise.all(sending)
    const delivered = answers.filter(({ status }) => status === 200)
    const refused = answers.filter(({ status }) => status !== 200)
    expect(provider.overlap.most).toBe(CONCURRENCY)
    expect(provider.overlap.calls).toBe(delivered.length)
    expect(delivered.length).toBe(CONCURRENCY)
    for (const answer of refused) assertRefused(answer)
    expect(refused.map((answer) => answer.error().error.code)).toContain('RATE_LIMITED')
    const ledger = await settledLedgerRows(service.owner, caller.entitlementId)
    assertLedgerMatches(ledger, delivered)
    expect(new Set(ledger.map(({ api_key_id }) => api_key_id)).size).toBeLessThanOrEqual(2)
  },
)

test(
  '200 callers that keep asking fill the rate of a minute and never get more in any 60 s, over both gateways ' +
    'and both keys, never more than 2 at once',
  async () => {
    const rate = 24
    const caller = await service.createCaller({ limits: { concurrency: CONCURRENCY, requests_per_minute: rate } })
    const send = await fourPaths(caller)
    provider.resetOverlap()
    provider.behaviour.delayMs = 15
    const held = provider.hold(ANSWERED_QUERY)
    async function askUntilAnswered(n: number): Promise<Answer | undefined> {
      for (;;) {
        const answer = await send(n)
        if (answer.status === 200) return answer
        assertRefused(answer)
        if (remaining(answer.headers).minute === 0) return undefined
        await sleep(150 + 2 * n)
      }
    }
    const asking = Promise.all(Array.from({ length: REQUESTS }, (_, n) => askUntilAnswered(n)))
    await until('as many as the plan allows are in flight', () => provider.overlap.most >= CONCURRENCY)
    held.release()
    const answers = await asking
    const delivered = answers.filter((answer) => answer !== undefined)
    const admittedMs = await admissionsOf(caller)
    // Each caller without an answer was told that the minute was full.
    expect(admittedMs.slice(0, rate)).toHaveLength(rate)
    for (const [n, lastMs] of admittedMs.slice(rate).entries())
      expect(lastMs - (admittedMs[n] ?? Number.NaN)).toBeGreaterThanOrEqual(MINUTE_MS)
    expect(provider.overlap).toEqual({ most: CONCURRENCY, calls: delivered.length })
    assertLedgerMatches(await settledLedgerRows(service.owner, caller.entitlementId), delivered)
  },
)

test(
  'one Idempotency-Key sent to both gateways under both keys at once is answered once; every other ' +
    'reply is a 409 that names the answer',
  async () => {
    const caller = await service.createCaller()
    const send = await fourPaths(caller)
    const headers = { 'idempotency-key': `fleet-${randomUUID()}` }
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => send(n, headers)))
    const delivered = answers.filter(({ status }) => status === 200)
    expect(delivered.length).toBe(1)
    const original = delivered[0]?.retrieved().request_id
    const refused = answers.filter(({ status }) => status !== 200)
    expect(refused.map(({ status }) => status)).toEqual(refused.map(() => 409))
    expect(new Set(refused.map((answer) => answer.error().error.original_request_id))).toEqual(new Set([original]))
    const ledger = await settledLedgerRows(service.owner, caller.entitlementId)
    assertLedgerMatches(ledger, delivered)
    expect(remaining((await send(1)).headers).day).toBe(1_000_000 - 2)
  },
)

test(
  'a caller who hangs up during the embedding has the provider call aborted and stays charged, and the ' +
    'lease ends with the work',
  async () => {
    const caller = await service.createCaller({ limits: { concurrency: 1 } })
    const query = `${ANSWERED_QUERY} `
    const held = provider.hold(query)
    const hangUp = new AbortController()
    const abandoned = caller.ask({ query }, { signal: hangUp.signal })
    await arrivalOf(held, abandoned)
    expect((await caller.ask()).error().error.code).toBe('RATE_LIMITED')
    hangUp.abort()
    await expect(abandoned).rejects.toThrow()
    await held.hungUp
    held.release()
    const next = await until('the lease has ended', async () => {
      const answer = await caller.ask()
      return answer.status === 200 && answer
    })
    expect(remaining(next.headers).day).toBe(1_000_000 - 2)
    const ledger = await settledLedgerRows(service.owner, caller.entitlementId)
    expect(ledger.map(({ entry, charged }) => ({ entry, charged }))).toEqual([
      { entry: 'failed', charged: true },
      { entry: 'delivered', charged: true },
    ])
  },
)
