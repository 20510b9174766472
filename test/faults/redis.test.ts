import { randomUUID } from 'node:crypto'
import { cpSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import { openCounters } from '#core/limits/counters.ts'
import { createLog } from '#core/platform/log.ts'
import type { LocalRedis } from '#operator/demo/local/redis.ts'
import { startGateway } from '#operator/demo/local/stack.ts'
import { releaseExposure } from '#operator/actions/exposure.ts'
import { ledgerJobsQueued, ledgerRowsOf, remaining, settledLedgerRows } from '#test/support/ledger.ts'
import { arrivalOf, startTestProvider, type TestProvider } from '#test/support/embedding-endpoint.ts'
import { until } from '#test/support/until.ts'
import type { Answer } from '#test/support/http.ts'
import { startFaultProxy } from '#test/support/proxy.ts'
import { startOwnRedis, withRedis } from '#test/support/redis.ts'
import { ANSWERED_QUERY, KNOWLEDGE_BASE, startTestService } from '#test/support/service.ts'
import type { TestService } from '#test/support/service.ts'
import { adjustedNowMs } from '#test/support/clock.ts'

const DAY_ALLOWANCE = 6

let provider: TestProvider
let redis: LocalRedis
let service: TestService
beforeAll(async () => {
  provider = await startTestProvider()
  redis = await startOwnRedis()
  service = await startTestService({ redisUrl: redis.url, embedding: 'openai', environment: provider.environment })
})
afterAll(async () => {
  await service?.stop()
  await redis?.stop()
  await provider?.stop()
})

/** The append-only files, and where an older copy of them is kept. */
const files = (): string => join(dirname(redis.logFile), 'appendonlydir')
const olderCopy = (): string => join(dirname(redis.logFile), 'older')

/**
 * A client that has used four of its six requests of the day, one of them in flight under a concurrency of one; and a
 * client that has reached its exposure limit.
 */
type Used = Awaited<ReturnType<typeof useUp>>

const ALL_SEEN = { exposure: { soft_share: 0.0001, hard_share: 0.0001, floors: { corpus: 1, document: 1_000 } } }

async function useUp(afterFirst: () => void) {
  const caller = await service.createCaller({
    limits: { concurrency: 1, requests_per_minute: 50, requests_per_day: DAY_ALLOWANCE, requests_per_month: 100 },
  })
  const exposed = await service.createCaller({ limits: ALL_SEEN })
  /** A client whose request in flight will reach its exposure limit. */
  const late = await service.createCaller({ limits: ALL_SEEN })
  const idempotencyKey = `faults-${randomUUID()}`
  const original = (await caller.ask({}, { headers: { 'idempotency-key': idempotencyKey } })).retrieved().request_id
  afterFirst()
  await caller.ask()
  await caller.ask()
  expect((await exposed.ask()).retrieved().results.length).toBeGreaterThanOrEqual(1)
  expect((await exposed.ask()).error().error.code).toBe('RATE_LIMITED')
  const query = `${ANSWERED_QUERY} `
  const held = provider.hold(query)
  const inFlight = caller.ask({ query })
  const lateQuery = `${ANSWERED_QUERY}  `
  const lateHeld = provider.hold(lateQuery)
  const lateInFlight = late.ask({ query: lateQuery })
  await Promise.all([arrivalOf(held, inFlight), arrivalOf(lateHeld, lateInFlight)])
  const refused = await caller.ask()
  expect(refused.error().error.code).toBe('RATE_LIMITED')
  const left = remaining(refused.headers)
  expect(left).toEqual({ minute: 46, day: DAY_ALLOWANCE - 4, month: 96 })
  return { caller, exposed, idempotencyKey, original, held, inFlight, left, late, lateHeld, lateInFlight }
}

/** All counters are as before: exactly the remaining requests are admitted. */
async function assertAsBefore({
  caller,
  exposed,
  idempotencyKey,
  original,
  held,
  inFlight,
  left,
  late,
  lateHeld,
  lateInFlight,
}: Used): Promise<void> {
  const refused = await until('the limits are decided again', async () => {
    const answer = await caller.ask()
    return answer.status !== 503 && answer
  })
  expect(refused.error().error.code).toBe('RATE_LIMITED')
  expect(remaining(refused.headers)).toEqual(left)
  const duplicate = await caller.ask({}, { headers: { 'idempotency-key': idempotencyKey } })
  expect(duplicate.error().error).toMatchObject({ code: 'REQUEST_ALREADY_PROCESSED', original_request_id: original })
  expect(remaining(duplicate.headers)).toEqual(left)
  expect((await exposed.ask()).error().error.code).toBe('RATE_LIMITED')
  lateHeld.release()
  expect((await lateInFlight).status).toBe(200)
  expect((await late.ask()).error().error.code).toBe('RATE_LIMITED')

  held.release()
  expect((await inFlight).status).toBe(200)
  for (let more = 0; more < left.day; more++) expect((await caller.ask()).status).toBe(200)
  expect((await caller.ask()).error().error.code).toBe('QUOTA_EXHAUSTED')
  const ledger = await settledLedgerRows(service.owner, caller.entitlementId)
  expect(ledger.map(({ entry, charged }) => `${entry} ${charged}`)).toEqual(
    Array.from({ length: DAY_ALLOWANCE }, () => 'delivered true'),
  )
}

const FAULTS: readonly { readonly name: string; readonly strike: () => Promise<void> }[] = [
  { name: 'FLUSHALL', strike: () => withRedis(redis.url, async (client) => void (await client.flushall())) },
  {
    name: 'a crash that loses every file',
    strike: async () => {
      await redis.kill()
      rmSync(files(), { recursive: true })
      await redis.restart()
    },
  },
  {
    name: 'a crash after which an older copy of the files comes back',
    strike: async () => {
      await redis.kill()
      rmSync(files(), { recursive: true })
      cpSync(olderCopy(), files(), { recursive: true })
      await redis.restart()
    },
  },
]

beforeEach(() => rmSync(olderCopy(), { recursive: true, force: true }))

test.each(FAULTS)(
  'after $name, allowances, minute slots, leases, idempotency and exposure are as before, and ' +
    'nothing beyond the plan is admitted',
  async ({ strike }) => {
    const used = await useUp(() => cpSync(files(), olderCopy(), { recursive: true }))
    await strike()
    await assertAsBefore(used)
    const { length } = await ledgerRowsOf(service.owner, used.caller.entitlementId)
    expect(length).toBe(DAY_ALLOWANCE)
  },
)

test(
  'what is served by a request that was in flight while an operator released the exposure counts anew, ' +
    'and its lease ends',
  async () => {
    const caller = await service.createCaller({ limits: { concurrency: 1, ...ALL_SEEN } })
    expect((await caller.ask()).status).toBe(200)
    expect((await caller.ask()).error().error.code).toBe('RATE_LIMITED')
    const release = (): Promise<unknown> =>
      releaseExposure(service.operator, {
        organization: caller.organization,
        knowledgeBase: KNOWLEDGE_BASE,
        environment: 'live',
        note: 'test',
      })
    await release()
    const query = `${ANSWERED_QUERY} `
    const held = provider.hold(query)
    const inFlight = await until('the release has reached the gateway', async () => {
      const sending = caller.ask({ query })
      const refused = await Promise.race([held.arrived, sending])
      return refused === undefined && { sending }
    })
    await release()
    held.release()
    expect((await inFlight.sending).retrieved().results.length).toBeGreaterThanOrEqual(1)
    const { error } = (await caller.ask()).error()
    expect(error).toMatchObject({ code: 'RATE_LIMITED', details: [{ reason: 'exposure', scope: 'knowledge_base' }] })
  },
)

test(
  'while Redis is down every request gets a 503 well before its deadline and is not charged; when it ' +
    'is back, so is the service',
  async () => {
    const caller = await service.createCaller({ limits: { requests_per_day: 3 } })
    expect((await caller.ask()).status).toBe(200)
    await redis.kill()
    for (let attempt = 0; attempt < 3; attempt++) {
      const beganMs = adjustedNowMs()
      const refused = await caller.ask()
      expect(adjustedNowMs() - beganMs).toBeLessThan(PLATFORM_BOUNDS.requestDeadlineMs / 2)
      expect({ status: refused.status, ...refused.error().error }).toMatchObject({
        status: 503,
        code: 'INTERNAL_UNAVAILABLE',
        retryable: true,
      })
    }
    expect((await fetch(`${service.gateways[0]?.internalUrl}/readyz`)).status).toBe(200)
    expect((await ledgerRowsOf(service.owner, caller.entitlementId)).length).toBe(1)
    await redis.restart()
    await until('requests are served again', async () => (await caller.ask()).status === 200)
    expect((await caller.ask()).status).toBe(200)
    expect((await caller.ask()).error().error.code).toBe('QUOTA_EXHAUSTED')
    expect((await ledgerRowsOf(service.owner, caller.entitlementId)).map(({ state }) => state)).toEqual([
      'delivered',
      'delivered',
      'delivered',
    ])
  },
)

test.each(['cut', 'stall'] as const)(
  'a charge whose confirmation was lost on the way (%s) is taken back: 503, the Idempotency-Key is ' +
    'free, and the retry is charged once',
  async (fault) => {
    const proxy = await startFaultProxy(redis.url)
    const addresses = service.searchNodes.map(({ address }) => address)
    const gateway = await startGateway({ ...service.settings, redisUrl: proxy.url }, addresses, `gateway-lost-${fault}`)
    try {
      const caller = await service.createCaller({ limits: { requests_per_day: 3 } })
      const send = (headers: Record<string, string> = {}): Promise<Answer> =>
        caller.ask({}, { baseUrl: gateway.baseUrl, headers })
      expect((await send()).status).toBe(200)
      const headers = { 'idempotency-key': `faults-${randomUUID()}` }
      const tripped = proxy.trip(fault, ':key:', 'delivery')
      expect((await send(headers)).error().error).toMatchObject({ code: 'INTERNAL_UNAVAILABLE', retryable: true })
      await tripped.seen
      proxy.set('pass')
      const again = await until('the limits are decided again', async () => {
        const answer = await send(headers)
        return answer.status !== 503 && answer
      })
      expect({ status: again.status, day: remaining(again.headers).day }).toEqual({ status: 200, day: 1 })
    } finally {
      await gateway.stop()
      await proxy.stop()
    }
  },
)

test('a Redis that may evict counters decides no limit, until it may not any more', async () => {
  const policy = (name: string): Promise<void> =>
    withRedis(redis.url, async (client) => void (await client.config('SET', 'maxmemory-policy', name)))
  await policy('allkeys-lru')
  const said: string[] = []
  const counters = openCounters(
    redis.url,
    createLog('test', 'warn', (line) => said.push(line)),
  )
  try {
    await until('it is refused', async () => said.length > 0)
    expect([said[0]?.includes('set \\"maxmemory-policy noeviction\\"'), counters.runId()]).toEqual([true, undefined])
    await policy('noeviction')
    await until('it is taken', async () => counters.runId() !== undefined)
    const caller = await service.createCaller()
    await until('the gateway takes it too', async () => (await caller.ask()).status === 200)
  } finally {
    await policy('noeviction')
    counters.close()
  }
})

test('losing all of Redis loses no ledger entry: the sweeper appends what the lost jobs would have', async () => {
  const caller = await service.createCaller()
  service.jobs.signal('SIGSTOP')
  const answers = await Promise.all(Array.from({ length: 5 }, () => caller.ask()))
  await ledgerJobsQueued(redis.url, answers)
  await withRedis(redis.url, (client) => client.flushall())
  service.jobs.signal('SIGCONT')
  const ledger = await settledLedgerRows(service.owner, caller.entitlementId, 'lost')
  expect(ledger.map(({ request_id, charged }) => `${request_id} ${charged}`).toSorted()).toEqual(
    answers.map((answer) => `${answer.retrieved().request_id} true`).toSorted(),
  )
  expect((await caller.ask()).retrieved().version).toBe(service.versionId)
})
