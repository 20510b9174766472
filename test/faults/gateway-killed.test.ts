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

const KILLED = [
  {
    when: 'the charge and the reservation',
    store: 'gatewayDatabaseUrl',
    bytes: 'insert-reservation',
    asked: {},
    recorded: ['delivered'],
  },
  {
    when: 'the refund in Postgres and in Redis',
    store: 'redisUrl',
    bytes: '\r\nrefund\r\n',
    asked: { query: asking('status-400', ANSWERED_QUERY) },
    recorded: ['delivered', 'refunded'],
  },
] as const

test.concurrent.each(KILLED)(
  'a gateway that is killed between $when leaves no 409: another one serves the retry, and day and month are exact ' +
    'after the deadline of the lease',
  async ({ store, bytes, asked, recorded }) => {
    const doomed = await startDoomed(store)
    try {
      const caller = await service.createCaller({ limits })
      const headers = { 'idempotency-key': `killed-${randomUUID()}` }
      const { baseUrl } = doomed.gateway
      expect((await caller.ask({}, { baseUrl })).status).toBe(200)
      await killAt(doomed, bytes, () => caller.ask(asked, { baseUrl, headers }))
      expect((await ledgerRowsOf(service.owner, caller.entitlementId)).map(({ state }) => state)).toEqual(recorded)
      const retried = await caller.ask({}, { headers })
      expect({ status: retried.status, ...remaining(retried.headers) }).toMatchObject({
        status: 200,
        day: 0,
        month: 97,
      })
      await assertExactAfterDeadline(caller)
      const ledger = await settledLedgerRows(service.owner, caller.entitlementId, 'lost')
      expect(ledger.map(({ entry }) => entry)).toEqual([...recorded, 'delivered', 'delivered'])
    } finally {
      await doomed.stop()
    }
  },
)
