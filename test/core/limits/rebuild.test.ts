import { createHash, randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'
import { Client } from 'pg'
import pLimit from 'p-limit'
import { afterAll, describe, expect, test } from 'vitest'
import type { LimitEpoch } from '#core/db/limit-epochs.ts'
import { listenForAccessChanges } from '#core/db/access.ts'
import { openDatabase } from '#core/db/pool.ts'
import type { ServedPassage } from '#core/domain/exposure.ts'
import { planLimitsSchema, type PlanLimits } from '#core/domain/quota-plan.ts'
import { admit, type Admission } from '#core/limits/admission.ts'
import { rebuildCounters } from '#core/limits/rebuild.ts'
import { failedOutcome, type Charge } from '#core/limits/settlement.ts'
import { DATABASE_BOUNDS } from '#core/db/bounds.ts'
import { createLog } from '#core/platform/log.ts'
import { CALL_TIMEOUT_MS, expectEventually } from '#test/support/until.ts'
import { openTestPools } from '#test/support/postgres.ts'
import { createOrganization, openServers, type ModelEntitlement, type Servers } from '#test/model/servers.ts'
import { withRedis } from '#test/support/redis.ts'
import { NO_REPLAY, createCandidate } from '#test/support/limits.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

const log = createLog('test', 'silent')
const { database } = await openTestPools()
const servers = await openServers(database)
afterAll(() => servers.close())

const gateway = (index = 0): Servers['gateways'][number] => {
  const found = servers.gateways[index]
  if (found === undefined) throw new Error(`there is no gateway ${index}`)
  return found
}

function ask(
  held: ModelEntitlement,
  { gateway: index, ...more }: { readonly limits?: PlanLimits; readonly key?: string; readonly gateway?: number } = {},
): Promise<Admission> {
  return admit(gateway(index), createCandidate(held, { corpusPassages: 10, ...more }), (_, work) => work)
}

async function admitted(held: ModelEntitlement, limits: PlanLimits): Promise<Charge> {
  const admission = await ask(held, { limits })
  if (admission.status !== 'admitted') throw new Error('the request is refused')
  return admission.charge
}

async function deliver(held: ModelEntitlement, limits: PlanLimits, served: readonly ServedPassage[]): Promise<void> {
  const outcome = failedOutcome(null, 5, null)
  await gateway().settlement.deliver(await admitted(held, limits), { outcome, served, replay: NO_REPLAY }, 5_000)
}

/** Delivers passages `from` to `from + count - 1` of one document each. */
async function serve(held: ModelEntitlement, limits: PlanLimits, from: number, count: number): Promise<void> {
  const numbers = Array.from({ length: count }, (_, n) => from + n)
  await deliver(
    held,
    limits,
    numbers.map((n) => ({ chunk: `c${n}`, document: `d${n}`, total: 1 })),
  )
}

function reasonOf(admission: Admission): string {
  return admission.status === 'admitted' ? 'admitted' : admission.refusal.reason
}

async function rebuild({ scope: { organizationId } }: ModelEntitlement): Promise<void> {
  const { epochs } = gateway()
  await epochs.repair(organizationId, { epoch: await epochs.current(organizationId, 1), windowDays: 1, overdue: true })
}

async function entitlement(): Promise<ModelEntitlement> {
  await servers.setClock(0)
  const [held] = await createOrganization(servers.owner)
  if (held === undefined) throw new Error('there is no entitlement')
  return held
}

const UNLIMITED = planLimitsSchema.parse({ requests_per_minute: 100, concurrency: 100 })
const exposure = (window_days: number): object => ({
  exposure: { window_days, soft_share: 0.0001, hard_share: 0.0001, floors: { corpus: 3, daily: 1 } },
})
const MONTH = planLimitsSchema.parse({ requests_per_minute: 100, concurrency: 100, ...exposure(30) })
const DAY = planLimitsSchema.parse({ requests_per_minute: 100, concurrency: 100, ...exposure(1) })

/** Values of the keys of exposure by the rest of their name: sorted sets with their scores, and hashes. */
async function readExposure(client: Redis, prefix: string): Promise<Readonly<Record<string, unknown>>> {
  const values: Record<string, unknown> = {}
  for (const key of await client.keys(`${prefix}*`)) {
    const name = key.slice(prefix.length)
    if (name === 'bases') values[name] = await client.smembers(key)
    else if (name.endsWith(':days') || name.includes(':document:')) values[name] = await client.hgetall(key)
    else if (name.startsWith('exposure:'))
      values[name] = (await client.zrangebyscore(key, '-inf', '+inf', 'WITHSCORES')).join(' ')
  }
  return values
}

describe('a rebuild', () => {
  test('counts exposure in the window of each plan, whichever plan the passages were served under', async () => {
    const held = await entitlement()
    await serve(held, DAY, 0, 25)
    await servers.setClock(20 * DAY_MS)
    await rebuild(held)
    expect(reasonOf(await ask(held, { limits: DAY }))).toBe('admitted')
    expect(reasonOf(await ask(held, { limits: MONTH }))).toBe('exposure')
    await rebuild(held)
    expect(reasonOf(await ask(held, { limits: MONTH }))).toBe('exposure')
  })

  test('writes the exposure that the deliveries had counted', async () => {
    const held = await entitlement()
    const { organizationId } = held.scope
    const passage = (document: string, n: number, total = 40): ServedPassage => ({
      chunk: `${document}-${n}`,
      document,
      total,
    })
    const deliveries = [
      [8, 9, 10, 11, 3].map((n) => passage('a:1', n)),
      [passage('b', 7), passage('a:1', 11, 39), passage('a:1', 12, 39), passage('a:1', 1)],
      [passage('c', 0), passage('a:1', 7, 41), passage('b', 7), passage('b', 9)],
      Array.from({ length: DATABASE_BOUNDS.rebuildBatchPassages }, (_, n) => passage('long', n * 2, 1_000)),
      Array.from({ length: DATABASE_BOUNDS.rebuildBatchPassages }, (_, n) => passage('long', 500 + n, 999)),
    ]
    for (const [minute, served] of deliveries.entries()) {
      await servers.setClock(minute * 60_000)
      await deliver(held, UNLIMITED, served)
    }
    const exposed = async (): Promise<Readonly<Record<string, unknown>>> => {
      const { id } = await gateway().epochs.current(organizationId, 1)
      return withRedis(servers.primary().url, (client) => readExposure(client, `{${organizationId}}:${id}:`))
    }
    const before = await exposed()
    expect(Object.keys(before)).toHaveLength(8)
    await rebuild(held)
    expect(await exposed()).toEqual(before)
  })

  test.each([
    ['midnight', Date.UTC(2031, 5, 14, 23), { requests_per_day: 3 }],
    ['the end of a month', Date.UTC(2031, 5, 30, 23), { requests_per_day: 3, requests_per_month: 3 }],
  ])('that crosses %s books nothing into the new period', async (_, instantMs, allowances) => {
    const held = await entitlement()
    const limits = planLimitsSchema.parse({ requests_per_minute: 100, concurrency: 100, ...allowances })
    const offsetMs = instantMs - Date.now()
    await servers.setClock(offsetMs)
    for (let n = 0; n < 3; n++) await serve(held, limits, n, 1)
    expect(reasonOf(await ask(held, { limits }))).toBe('quota')
    const { counters, settlement } = gateway()
    const installer = {
      ...counters.installer,
      requests: async (...given: Parameters<typeof counters.installer.requests>): Promise<void> => {
        await servers.setClock(offsetMs + HOUR_MS)
        await counters.installer.requests(...given)
      },
    }
    const rebuilds = openDatabase(database.gatewayUrl, log, 4, CALL_TIMEOUT_MS)
    try {
      const { organizationId } = held.scope
      const epoch = await gateway().epochs.current(organizationId, 1)
      const deps = { database: rebuilds, limited: pLimit(1), counters: { ...counters, installer }, settlement, log }
      await rebuildCounters(deps, organizationId, { epoch, windowDays: 1, overdue: true })
    } finally {
      await rebuilds.end()
    }
    const admission = await ask(held, { limits })
    expect([reasonOf(admission), admission.decision.dayUsed]).toEqual(['admitted', 1])
  })

  test('leaves no exposure of an earlier epoch behind', async () => {
    const held = await entitlement()
    await serve(held, UNLIMITED, 0, 7)
    const { organizationId } = held.scope
    const { id: earlier } = await gateway().epochs.current(organizationId, 1)
    const keysOf = (epoch: string): Promise<string[]> =>
      withRedis(servers.primary().url, (client) => client.keys(`{${organizationId}}:${epoch}:*expos*`))
    expect((await keysOf(earlier)).length).toBeGreaterThan(7)
    await rebuild(held)
    await expectEventually(() => keysOf(earlier), [])
    const { id: later } = await gateway().epochs.current(organizationId, 1)
    expect((await keysOf(later)).length).toBeGreaterThan(7)
  })

  test('reaches no access cache: a change of epochs sends no notification', async () => {
    const held = await entitlement()
    const client = new Client({ connectionString: database.gatewayUrl })
    await client.connect()
    const heard: string[] = []
    client.on('notification', ({ channel }) => heard.push(channel))
    await listenForAccessChanges(client)
    await ask(held)
    await rebuild(held)
    // A statement on the same connection is answered after every notification that was sent before it.
    await servers.owner.query('update organizations set active = active where id = $1', [held.scope.organizationId])
    await client.query('select 1')
    await expectEventually(() => heard, ['access_changed'])
    await client.end()
  })

  test('of two gateways at once is done by one of them, and both use its epoch', async () => {
    const held = await entitlement()
    await ask(held, { limits: UNLIMITED })
    const { organizationId } = held.scope
    const epoch = await gateway().epochs.current(organizationId, 1)
    const epochs = await Promise.all(
      [0, 1].map((index) => gateway(index).epochs.repair(organizationId, { epoch, windowDays: 1, overdue: true })),
    )
    expect(epochs[1]).toEqual(epochs[0])
    expect(epochs[0]?.id).not.toBe(epoch.id)
  })

  test('is not done for an epoch that has come into force since, and counts the window', async () => {
    const held = await entitlement()
    await ask(held, { limits: UNLIMITED })
    const { organizationId } = held.scope
    const epoch = await gateway().epochs.current(organizationId, 1)
    const stale = (windowDays: number): Promise<LimitEpoch> =>
      gateway(1).epochs.repair(organizationId, { epoch, windowDays, overdue: false })
    expect(await stale(1)).toEqual(epoch)
    expect((await stale(365)).id).not.toBe(epoch.id)
  })
})

describe('counters that cannot be trusted are counted anew', () => {
  test('after a process that ended between the refund in Postgres and in Redis, by any other', async () => {
    const held = await entitlement()
    const limits = planLimitsSchema.parse({ requests_per_minute: 100, concurrency: 5, requests_per_day: 2 })
    const { requestId } = await admitted(held, limits)
    await servers.owner.query(
      "update reservations set state = 'refunded', finished_at = now(), outcome = '{}' where id = $1",
      [requestId],
    )
    await ask(held, { limits })
    expect(reasonOf(await ask(held, { limits, gateway: 1 }))).toBe('quota')
    await servers.setClock(25_000)
    const again = await ask(held, { limits, gateway: 1 })
    expect([reasonOf(again), again.decision.dayUsed]).toEqual(['admitted', 1])
  })

  test('after a restore of Postgres: no epoch that Redis knows is given out a second time', async () => {
    const held = await entitlement()
    const { organizationId } = held.scope
    await ask(held, { limits: UNLIMITED })
    const { rows } = await servers.owner.query<{ epoch: string; redis_run_id: string }>(
      'select epoch, redis_run_id from limit_epochs where organization_id = $1',
      [organizationId],
    )
    const [restored] = rows
    const seen = new Set([restored?.epoch])
    for (let round = 0; round < 3; round++) {
      await rebuild(held)
      const { id } = await gateway().epochs.current(organizationId, 1)
      expect(seen.has(id)).toBe(false)
      seen.add(id)
      await servers.owner.query('update limit_epochs set epoch = $2, redis_run_id = $3 where organization_id = $1', [
        organizationId,
        restored?.epoch,
        restored?.redis_run_id,
      ])
      expect(reasonOf(await ask(held, { limits: UNLIMITED }))).toBe('admitted')
    }
  })

  test('an idempotency key conflicts only with a request that Postgres holds', async () => {
    const held = await entitlement()
    const { counters, epochs } = gateway()
    const { organizationId } = held.scope
    const key = randomUUID()
    const idempotencyDigest = createHash('sha256').update(key).digest()
    const epoch = await epochs.current(organizationId, 30)
    const charge = {
      requestId: randomUUID(),
      limits: UNLIMITED,
      corpusPassages: 10,
      exposureAllowance: 0,
      topK: 0,
      idempotencyDigest,
    }
    expect((await counters.admit(held.scope, epoch.id, charge)).status).toBe('admitted')
    expect(reasonOf(await ask(held, { limits: UNLIMITED, key }))).toBe('admitted')
    expect(reasonOf(await ask(held, { limits: UNLIMITED, key }))).toBe('conflict')
  })
})
