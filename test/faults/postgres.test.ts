import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { openDatabase, withClient } from '#core/db/pool.ts'
import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import { createLog } from '#core/platform/log.ts'
import { watchStatements } from '#gateway/statements.ts'
import { startGateway, type LocalGateway } from '#operator/demo/local/stack.ts'
import { ledgerRowsOf, remaining, settledLedgerRows } from '#test/support/ledger.ts'
import { expectEventually, until } from '#test/support/until.ts'
import type { Answer, AskOptions } from '#test/support/http.ts'
import { startFaultProxy, type FaultProxy } from '#test/support/proxy.ts'
import { startTestService, type Caller, type TestService } from '#test/support/service.ts'
import { adjustedNowMs } from '#test/support/clock.ts'

const DAY_ALLOWANCE = 100
const readinessSchema = z.object({ dependencies: z.object({ postgres: z.unknown() }) })

let service: TestService
let proxy: FaultProxy
/** It reaches Postgres through the proxy; the job worker does not. */
let gateway: LocalGateway
beforeAll(async () => {
  service = await startTestService({ gateways: 0 })
  proxy = await startFaultProxy(service.settings.gatewayDatabaseUrl)
  const addresses = service.searchNodes.map(({ address }) => address)
  gateway = service.add(await startGateway({ ...service.settings, gatewayDatabaseUrl: proxy.url }, addresses))
})
afterAll(async () => {
  await service?.stop()
  await proxy?.stop()
})
afterEach(() => proxy.set('pass'))

async function createCaller(): Promise<{
  readonly caller: Caller
  readonly send: (options?: AskOptions) => Promise<Answer>
}> {
  const caller = await service.createCaller({
    limits: { requests_per_minute: 1_000, requests_per_day: DAY_ALLOWANCE, requests_per_month: 1_000 },
  })
  return { caller, send: (options = {}) => caller.ask({}, { baseUrl: gateway.baseUrl, ...options }) }
}

async function assertRefusedInTime(sending: () => Promise<Answer>): Promise<void> {
  const beganMs = adjustedNowMs()
  const refused = await sending()
  expect(adjustedNowMs() - beganMs).toBeLessThan(PLATFORM_BOUNDS.requestDeadlineMs)
  expect({ status: refused.status, ...refused.error().error }).toMatchObject({
    status: 503,
    code: 'INTERNAL_UNAVAILABLE',
    retryable: true,
  })
}

function served(send: () => Promise<Answer>): Promise<Answer> {
  return until('requests are served again', async () => {
    const answer = await send()
    return answer.status === 200 && answer
  })
}

/** The sweeper finishes reservations that are open past their deadline; the test does not wait for the deadline. */
async function passDeadlines(caller: Caller): Promise<void> {
  await service.owner.query(
    "update reservations set deadline_at = now() where entitlement_id = $1 and state = 'open'",
    [caller.entitlementId],
  )
}

const FAULTS = ['cut', 'stall'] as const

test.each(FAULTS)(
  'Postgres lost before admission (%s): 503 within the deadline, nothing is charged, and service returns by itself',
  async (fault) => {
    const { caller, send } = await createCaller()
    await served(send)
    proxy.set(fault)
    await assertRefusedInTime(send)
    expect((await fetch(`${gateway.internalUrl}/readyz`)).status).toBe(200)
    proxy.set('pass')
    const left = remaining((await served(send)).headers)
    expect({ day: left.day, month: left.month }).toEqual({ day: DAY_ALLOWANCE - 2, month: 998 })
    // Statements in flight when the connection stalled may still arrive when it recovers; they are refunded.
    await passDeadlines(caller)
    const ledger = await settledLedgerRows(service.owner, caller.entitlementId, 'lost')
    expect(ledger.filter(({ charged }) => charged).map(({ entry }) => entry)).toEqual(['delivered', 'delivered'])
    expect(ledger.filter(({ charged }) => !charged).every(({ entry }) => entry === 'refunded')).toBe(true)
  },
)

test.each(FAULTS)(
  'Postgres lost between the charge in Redis and the reservation (%s): 503, and the whole charge is undone',
  async (fault) => {
    const { caller, send } = await createCaller()
    const headers = { 'idempotency-key': `postgres-${randomUUID()}` }
    await served(send)
    const tripped = proxy.trip(fault, 'insert-reservation')
    await assertRefusedInTime(() => send({ headers }))
    await tripped.seen
    expect((await ledgerRowsOf(service.owner, caller.entitlementId)).length).toBe(1)
    proxy.set('pass')
    const again = await served(() => send({ headers }))
    expect(remaining(again.headers)).toEqual({ minute: 998, day: DAY_ALLOWANCE - 2, month: 998 })
    expect((await settledLedgerRows(service.owner, caller.entitlementId)).map(({ entry }) => entry)).toEqual([
      'delivered',
      'delivered',
    ])
  },
)

test(
  'a reservation whose confirmation was lost on the way is refunded by the sweeper, and the ' +
    'Idempotency-Key is free again',
  async () => {
    const { caller, send } = await createCaller()
    const headers = { 'idempotency-key': `postgres-${randomUUID()}` }
    await served(send)
    const tripped = proxy.trip('cut', 'insert-reservation', 'delivery')
    await assertRefusedInTime(() => send({ headers }))
    await tripped.seen
    // The gateway refunds it itself once it reaches Postgres again, so that comes after the sweeper.
    expect((await ledgerRowsOf(service.owner, caller.entitlementId)).map(({ state }) => state)).toEqual([
      'delivered',
      'open',
    ])
    await passDeadlines(caller)
    const ledger = await settledLedgerRows(service.owner, caller.entitlementId, 'lost')
    expect(ledger.map(({ entry, charged }) => `${entry} ${charged}`)).toEqual(['delivered true', 'refunded false'])
    proxy.set('pass')
    const left = remaining((await served(() => send({ headers }))).headers)
    expect({ day: left.day, month: left.month }).toEqual({ day: DAY_ALLOWANCE - 2, month: 998 })
  },
)

test.each(FAULTS)(
  'Postgres lost when the outcome is to be recorded (%s): 503 and no reply; the request is refunded, ' +
    'by the sweeper if need be',
  async (fault) => {
    const { caller, send } = await createCaller()
    await served(send)
    const tripped = proxy.trip(fault, 'record-delivered')
    await assertRefusedInTime(send)
    await tripped.seen
    proxy.set('pass')
    await passDeadlines(caller)
    const ledger = await settledLedgerRows(service.owner, caller.entitlementId, 'lost')
    expect(ledger.map(({ entry, charged }) => `${entry} ${charged}`)).toEqual(['delivered true', 'refunded false'])
    const left = remaining((await served(send)).headers)
    expect({ day: left.day, month: left.month }).toEqual({ day: DAY_ALLOWANCE - 2, month: 998 })
  },
)

test('an outcome whose commit confirmation was lost is delivered and charged once', async () => {
  const { caller, send } = await createCaller()
  await served(send)
  const tripped = proxy.trip('cut', 'record-delivered', 'delivery')
  const sending = send()
  await tripped.seen
  proxy.set('pass')
  const answer = await sending
  expect(answer.status).toBe(200)
  const ledger = await settledLedgerRows(service.owner, caller.entitlementId)
  expect(ledger.map(({ entry, charged }) => `${entry} ${charged}`)).toEqual(['delivered true', 'delivered true'])
  expect(ledger[1]).toMatchObject({ request_id: answer.retrieved().request_id, response_bytes: answer.bytes.length })
})

const FULL = `
  create function disk_is_full() returns trigger language plpgsql as $$
    begin raise exception 'could not extend file' using errcode = 'disk_full'; end $$;
  create trigger disk_is_full before insert on reservations execute function disk_is_full()`

test.each([
  ['a table is locked', 'begin; lock table reservations', 'rollback', '57014'],
  ['the disk is full', FULL, 'drop function disk_is_full cascade', '53100'],
])(
  'while %s, Postgres is down by the statements of requests, whose failure names what and who',
  async (_, lose, repair, code) => {
    const { send } = await createCaller()
    await served(send)
    const state = async () => readinessSchema.parse(await (await fetch(`${gateway.internalUrl}/readyz`)).json())
    await expectEventually(async () => (await state()).dependencies.postgres, { state: 'up' })
    const logged = () =>
      readFileSync(gateway.logFile, 'utf8')
        .split('\n')
        .filter((line) => line.includes('statement failed'))
    const before = logged().filter((line) => line.includes(code)).length
    expect(before).toBe(0)
    const session = await service.owner.connect()
    const { rows } = await session.query<{ pid: number }>('select pg_backend_pid() as pid')
    await session.query(lose)
    try {
      const reason = `insert-reservations failed (${code})`
      await expectEventually(
        async () => {
          await assertRefusedInTime(send)
          return (await state()).dependencies.postgres
        },
        { state: 'down', reason },
      )
      const [line = ''] = logged().filter((each) => each.includes(code))
      expect(line).toContain('"statement":"insert-reservations"')
      expect(line.includes(`"blocked_by":"${rows[0]?.pid} of `)).toBe(repair === 'rollback')
    } finally {
      await session.query(repair)
      session.release()
    }
    await served(send)
    await expectEventually(async () => (await state()).dependencies.postgres, { state: 'up' })
  },
)

test('a statement that gets no connection of the pool counts, and one that a constraint refuses does not', async () => {
  const log = createLog('test', 'silent')
  const pool = openDatabase(service.settings.gatewayDatabaseUrl, log, 1, 2_000)
  const statements = watchStatements(pool, log)
  try {
    await expect(pool.query("select 'x'::int")).rejects.toThrow('invalid input')
    expect(statements.reason()).toBeUndefined()
    await withClient(pool, () => expect(pool.query('select 1')).rejects.toThrow('timeout'))
    expect(statements.reason()).toBe('select 1 failed (unavailable)')
    await pool.query('select 1')
    expect(statements.reason()).toBeUndefined()
    const unnamed = { text: 'select $1::int', values: [1] }
    await withClient(pool, () => expect(pool.query(unnamed)).rejects.toThrow('timeout'))
    expect(statements.reason()).toBe('select $1::int failed (unavailable)')
  } finally {
    await pool.end()
  }
})

test('a cached refusal that has expired and cannot be read again is a 503 instead of the stale answer', async () => {
  const caller = await service.createCaller({ scopes: ['usage:read'] })
  const send = (): Promise<Answer> => caller.ask({}, { baseUrl: gateway.baseUrl })
  // Until the gateway has heard of the caller's creation, what it cached may be dropped again.
  const beganMs = await until('the refusal is cached', async () => {
    proxy.set('pass')
    const readMs = adjustedNowMs()
    const read = await send()
    proxy.set('stall')
    const codes = [read, await send()].map((answer) => answer.error().error.code)
    return codes.every((code) => code === 'SCOPE_FORBIDDEN') && readMs
  })
  const changed = await until('the cached answer has expired', async () => {
    const sentMs = adjustedNowMs()
    const answer = await send()
    return answer.status !== 403 && { answer, sentMs }
  })
  expect(changed.answer.error().error.code).toBe('INTERNAL_UNAVAILABLE')
  expect(changed.sentMs - beganMs).toBeLessThan(5_000)
})
