import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { epochKey } from '#core/limits/counter-keys.ts'
import { startGateway, type LocalGateway } from '#operator/demo/local/stack.ts'
import type { Answer } from '#test/support/http.ts'
import { startFaultProxy, type FaultProxy } from '#test/support/proxy.ts'
import { ledgerRowsOf, remaining, settledLedgerRows } from '#test/support/ledger.ts'
import { startTestService, type Caller, type TestService } from '#test/support/service.ts'
import { expectEventually } from '#test/support/until.ts'

const ALLOWANCES = { requests_per_minute: 1_000, requests_per_day: 100, requests_per_month: 1_000 }

let service: TestService
let proxy: FaultProxy
/** It reaches Postgres through the proxy; the other gateway and the job worker do not. */
let gateway: LocalGateway
beforeAll(async () => {
  service = await startTestService({ gateways: 1 })
  proxy = await startFaultProxy(service.settings.gatewayDatabaseUrl)
  const addresses = service.searchNodes.map(({ address }) => address)
  gateway = service.add(
    await startGateway({ ...service.settings, gatewayDatabaseUrl: proxy.url }, addresses, 'gateway-proxied'),
  )
  await service.owner.query(`
    create function slow_commit() returns trigger language plpgsql as
      'begin perform pg_sleep(tg_argv[0]::float8); return null; end'`)
})
afterAll(async () => {
  await service?.stop()
  await proxy?.stop()
})
afterEach(() => proxy.set('pass'))

type Sender = Awaited<ReturnType<typeof createSender>>

/** A caller that was served once, through the proxied gateway. */
async function createSender() {
  const caller = await service.createCaller({ limits: ALLOWANCES })
  const send = (headers: Record<string, string> = {}): Promise<Answer> =>
    caller.ask({}, { baseUrl: gateway.baseUrl, headers })
  expect((await send()).status).toBe(200)
  return { caller, headers: { 'idempotency-key': `uncertain-${randomUUID()}` }, send }
}

/** The commit that delivers a request of this caller takes so long; a statement time-out does not end it. */
async function slowCommits(caller: Caller, seconds: number): Promise<void> {
  await service.owner.query(`
    create constraint trigger "slow-${caller.client}" after update on reservations deferrable initially deferred
      for each row when (old.state = 'open' and new.state = 'delivered'
        and new.entitlement_id = '${caller.entitlementId}')
      execute function slow_commit('${seconds}')`)
}

async function fastCommits(caller: Caller): Promise<void> {
  await service.owner.query(`drop trigger "slow-${caller.client}" on reservations`)
}

const REFUSED = [503, 'INTERNAL_UNAVAILABLE']

function refusalOf(answer: Answer): readonly unknown[] {
  return [answer.status, answer.error().error.code]
}

async function ledgerOf(caller: Caller): Promise<readonly string[]> {
  const rows = await settledLedgerRows(service.owner, caller.entitlementId)
  return rows.map(({ state, entry, charged }) => `${state} ${entry} ${charged}`)
}

const DELIVERED = 'delivered delivered true'
const REFUNDED = 'refunded refunded false'

/** @param others requests of the organization that were delivered besides the first one. */
async function assertRefunded({ caller, send, headers }: Sender, others = 0): Promise<void> {
  const more = Array.from({ length: others }, () => DELIVERED)
  expect(await ledgerOf(caller)).toEqual([DELIVERED, REFUNDED, ...more])
  const retried = await send(headers)
  expect(retried.status).toBe(200)
  const { day, month } = remaining(retried.headers)
  expect({ day, month }).toEqual({ day: 98 - others, month: 998 - others })
  expect(await ledgerOf(caller)).toEqual([DELIVERED, REFUNDED, ...more, DELIVERED])
}

async function loseCounters(caller: Caller): Promise<void> {
  const { rows } = await service.owner.query<{ id: string }>('select id from organizations where name = $1', [
    caller.organization,
  ])
  const redis = new Redis(service.settings.redisUrl)
  try {
    await redis.del(epochKey(rows[0]?.id ?? ''))
  } finally {
    redis.disconnect()
  }
}

describe('An outcome whose commit takes long', () => {
  test.each([4, 6])(
    'is delivered and charged once where Postgres has it before the refusal (%s s)',
    async (seconds) => {
      const { caller, send, headers } = await createSender()
      await slowCommits(caller, seconds)
      const answer = await send(headers)
      await fastCommits(caller)
      expect(answer.status).toBe(200)
      expect(await ledgerOf(caller)).toEqual([DELIVERED, DELIVERED])
      const repeated = await send(headers)
      expect(repeated.error().error).toMatchObject({
        code: 'REQUEST_ALREADY_PROCESSED',
        original_request_id: answer.retrieved().request_id,
      })
      expect(remaining(repeated.headers)).toMatchObject({ day: 98, month: 998 })
    },
  )

  test('is refunded where the caller was refused first, and the retry is served', async () => {
    const sender = await createSender()
    await slowCommits(sender.caller, 10)
    expect(refusalOf(await sender.send(sender.headers))).toEqual(REFUSED)
    await fastCommits(sender.caller)
    await assertRefunded(sender)
  })
})

/** Sends a request whose statement that delivers it stalls. @returns once it does, with the reply to come. */
async function stalled(sender: Sender, what: 'delivery' | 'withheld') {
  const tripped = proxy.trip('stall', 'record-delivered', what)
  const sending = sender.send(sender.headers)
  await tripped.seen
  return { refusal: async () => refusalOf(await sending) }
}

async function statesOf({ caller }: Sender): Promise<readonly string[]> {
  return (await ledgerRowsOf(service.owner, caller.entitlementId)).map(({ state }) => state)
}

describe('An outcome of which the gateway hears nothing before it refuses', () => {
  test('is refunded although Postgres committed it: day, month and the Idempotency-Key are free', async () => {
    const sender = await createSender()
    const { refusal } = await stalled(sender, 'delivery')
    expect(await refusal()).toEqual(REFUSED)
    expect(await statesOf(sender)).toEqual(['delivered', 'delivered'])
    proxy.set('pass')
    await assertRefunded(sender)
  })

  test('is refunded exactly, also where the counters were rebuilt while it counted as delivered', async () => {
    const sender = await createSender()
    const { refusal } = await stalled(sender, 'delivery')
    await loseCounters(sender.caller)
    const other = await sender.caller.ask()
    expect(remaining(other.headers)).toMatchObject({ day: 97, month: 997 })
    expect(await refusal()).toEqual(REFUSED)
    proxy.set('pass')
    await assertRefunded(sender, 1)
  })

  test('changes nothing where it reaches Postgres after the refusal', async () => {
    const sender = await createSender()
    const { refusal } = await stalled(sender, 'withheld')
    expect(await refusal()).toEqual(REFUSED)
    expect(await statesOf(sender)).toEqual(['delivered', 'open'])
    const records = proxy.count('record-delivered')
    proxy.set('pass')
    await expectEventually(() => records.delivered > 0, true)
    await assertRefunded(sender)
  })
})
