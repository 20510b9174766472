import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startGateway } from '#operator/demo/local/stack.ts'
import type { Answer } from '#test/support/http.ts'
import { asking, startProvider, type Provider } from '#test/support/embedding-faults.ts'
import { startFaultProxy } from '#test/support/proxy.ts'
import { ledgerRowsOf, remaining, settledLedgerRows } from '#test/support/ledger.ts'
import { ANSWERED_QUERY, startTestService, type Caller, type TestService } from '#test/support/service.ts'
import { until } from '#test/support/until.ts'

let provider: Provider
let service: TestService
beforeAll(async () => {
  provider = await startProvider()
  service = await startTestService({
    gateways: 1,
    embedding: 'openai',
    environment: { OPENAI_BASE_URL: provider.baseUrl, OPENAI_API_KEY: 'test' },
  })
})
afterAll(async () => {
  await service?.stop()
  await provider?.stop()
})

/** A gateway that reaches one of its stores through a proxy. */
async function startDoomed(store: 'gatewayDatabaseUrl' | 'redisUrl') {
  const proxy = await startFaultProxy(service.settings[store])
  const addresses = service.searchNodes.map(({ address }) => address)
  const gateway = await startGateway({ ...service.settings, [store]: proxy.url }, addresses, `gateway-doomed-${store}`)
  return {
    gateway,
    proxy,
    stop: async () => {
      await gateway.stop()
      await proxy.stop()
    },
  }
}

type Doomed = Awaited<ReturnType<typeof startDoomed>>

/** Kills the gateway at the moment at which it sends these bytes to the store; they are lost. */
async function killAt({ gateway, proxy }: Doomed, bytes: string, send: () => Promise<Answer>): Promise<void> {
  const tripped = proxy.trip('stall', bytes)
  const sending = send().then(
    () => 'replied',
    () => 'hung up',
  )
  await tripped.seen
  gateway.signal('SIGKILL')
  await expect(gateway.ended).rejects.toThrow('SIGKILL')
  expect(await sending).toBe('hung up')
}

/**
 * Two of three requests of the day are used, and a third one left its charge in Redis. The counters are exact after the
 * lease's deadline: one more request is served, and none after it.
 */
async function assertExactAfterDeadline(caller: Caller): Promise<void> {
  const last = await until('the lost charge is gone', async () => {
    const answer = await caller.ask()
    const outcome = answer.status === 200 ? 'served' : answer.error().error.code
    expect(['served', 'QUOTA_EXHAUSTED']).toContain(outcome)
    return outcome === 'served' && answer
  })
  expect(remaining(last.headers)).toMatchObject({ day: 0, month: 97 })
  const refused = await caller.ask()
  expect(refused.error().error.code).toBe('QUOTA_EXHAUSTED')
  expect(remaining(refused.headers)).toMatchObject({ day: 0, month: 97 })
}

const limits = { requests_per_day: 3, requests_per_month: 100 }

test.concurrent(
  'a gateway that is killed between the charge and the reservation leaves no 409: another one serves the retry, and ' +
    'day and month are exact after the deadline of the lease',
  async () => {
    const doomed = await startDoomed('gatewayDatabaseUrl')
    try {
      const caller = await service.createCaller({ limits })
      const headers = { 'idempotency-key': `killed-${randomUUID()}` }
      const send = (options = {}): Promise<Answer> => caller.ask({}, { baseUrl: doomed.gateway.baseUrl, ...options })
      expect((await send()).status).toBe(200)
      await killAt(doomed, 'insert-reservation', () => send({ headers }))
      expect((await ledgerRowsOf(service.owner, caller.entitlementId)).length).toBe(1)
      const retried = await caller.ask({}, { headers })
      expect({ status: retried.status, ...remaining(retried.headers) }).toMatchObject({
        status: 200,
        day: 0,
        month: 97,
      })
      await assertExactAfterDeadline(caller)
      const ledger = await settledLedgerRows(service.owner, caller.entitlementId, 'lost')
      expect(ledger.map(({ entry }) => entry)).toEqual(['delivered', 'delivered', 'delivered'])
    } finally {
      await doomed.stop()
    }
  },
)

test.concurrent(
  'a gateway that is killed between the refund in Postgres and in Redis: another one serves the retry, and counts ' +
    'the refund after the deadline of the lease',
  async () => {
    const doomed = await startDoomed('redisUrl')
    try {
      const caller = await service.createCaller({ limits })
      const headers = { 'idempotency-key': `killed-${randomUUID()}` }
      const options = { baseUrl: doomed.gateway.baseUrl, headers }
      expect((await caller.ask({}, { baseUrl: doomed.gateway.baseUrl })).status).toBe(200)
      await killAt(doomed, '\r\nrefund\r\n', () => caller.ask({ query: asking('status-400', ANSWERED_QUERY) }, options))
      expect((await ledgerRowsOf(service.owner, caller.entitlementId)).map(({ state }) => state)).toEqual([
        'delivered',
        'refunded',
      ])
      const retried = await caller.ask({}, { headers })
      expect({ status: retried.status, ...remaining(retried.headers) }).toMatchObject({
        status: 200,
        day: 0,
        month: 97,
      })
      await assertExactAfterDeadline(caller)
      const ledger = await settledLedgerRows(service.owner, caller.entitlementId, 'lost')
      expect(ledger.map(({ entry }) => entry)).toEqual(['delivered', 'refunded', 'delivered', 'delivered'])
    } finally {
      await doomed.stop()
    }
  },
)
