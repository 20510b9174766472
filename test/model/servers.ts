import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase, type Database } from '#core/db/pool.ts'
import { planLimitsSchema, type PlanLimits } from '#core/domain/quota-plan.ts'
import type { LimitScope } from '#core/limits/counter-keys.ts'
import { createLog } from '#core/platform/log.ts'
import { startRedis } from '#operator/demo/local/redis.ts'
import { CLOCK_KEY } from '#test/support/limits.ts'
import { withRedis } from '#test/support/redis.ts'
import { CALL_TIMEOUT_MS } from '#test/support/until.ts'
import { openModelGateway } from './gateway.ts'

export type Servers = Awaited<ReturnType<typeof openServers>>

/** What all sequences share: Postgres, two Redis servers, of which one is the primary, and two gateways. */
export async function openServers(urls: { readonly ownerUrl: string; readonly gatewayUrl: string }) {
  const log = createLog('model', 'silent')
  const folder = mkdtempSync(join(tmpdir(), 'evidence-model-'))
  let first = await startRedis({ folder: join(folder, 'a') })
  let second = await startRedis({ folder: join(folder, 'b') })
  const redis = [first, second]
  const owner = openDatabase(urls.ownerUrl, log, 4, CALL_TIMEOUT_MS)
  const pools = [0, 1].map(() => ({
    database: openDatabase(urls.gatewayUrl, log, 8, CALL_TIMEOUT_MS),
    rebuilds: openDatabase(urls.gatewayUrl, log, 4, CALL_TIMEOUT_MS),
  }))
  const redisUrl = first.url
  const gateways = await Promise.all(pools.map((pool) => openModelGateway({ ...pool, redisUrl, log })))
  return {
    owner,
    gateways,
    /** The Redis that the gateways use. */
    primary: () => first,
    /** The other Redis becomes the primary, with the data that it has. */
    failOver: async () => {
      ;[first, second] = [second, first]
      await Promise.all(gateways.map((gateway) => gateway.connect(first.url)))
    },
    /** Moves the clock of both Redis servers by this much from the real time. */
    setClock: async (offsetMs: number) => {
      for (const server of redis) await withRedis(server.url, (client) => client.set(CLOCK_KEY, offsetMs))
    },
    close: async () => {
      for (const gateway of gateways) gateway.close()
      for (const { database, rebuilds } of pools) await Promise.all([database.end(), rebuilds.end()])
      await owner.end()
      await Promise.all(redis.map((server) => server.stop()))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export interface ModelEntitlement {
  readonly scope: LimitScope
  readonly planId: string
  readonly limits: PlanLimits
}

/** The rows of one sequence: an organization with two clients, whose plans differ in limits and exposure windows. */
export async function createOrganization(owner: Database): Promise<readonly ModelEntitlement[]> {
  const organizationId = randomUUID()
  const knowledgeBaseId = randomUUID()
  await owner.query('insert into organizations (id, name) values ($1::uuid, $1::uuid::text)', [organizationId])
  await owner.query(
    "insert into knowledge_bases (id, slug, title) values ($1::uuid, 'm-' || $1::uuid::text, 'Model')",
    [knowledgeBaseId],
  )
  const entitlements: ModelEntitlement[] = []
  for (const limits of PLANS) {
    const [clientId, planId, entitlementId] = [randomUUID(), randomUUID(), randomUUID()]
    await owner.query('insert into clients (id, organization_id, name) values ($1::uuid, $2, $1::uuid::text)', [
      clientId,
      organizationId,
    ])
    await owner.query('insert into plans (id, name, limits) values ($1::uuid, $1::uuid::text, $2)', [
      planId,
      JSON.stringify(limits),
    ])
    await owner.query(
      `insert into entitlements (id, client_id, environment, knowledge_base_id, plan_id, languages, jurisdictions)
       values ($1, $2, 'live', $3, $4, '{en}', '{XA}')`,
      [entitlementId, clientId, knowledgeBaseId, planId],
    )
    const scope = { organizationId, entitlementId, knowledgeBaseId, clientId, environment: 'live' }
    entitlements.push({ scope, planId, limits })
  }
  return entitlements
}

const PLANS = [
  planLimitsSchema.parse({
    requests_per_minute: 5,
    concurrency: 2,
    requests_per_day: 8,
    requests_per_month: 12,
    exposure: { window_days: 30, soft_share: 0.3, hard_share: 0.3, floors: { corpus: 9, daily: 1 } },
  }),
  planLimitsSchema.parse({
    requests_per_minute: 8,
    concurrency: 3,
    requests_per_day: 10,
    requests_per_month: 30,
    exposure: { window_days: 1, soft_share: 0.4, hard_share: 0.4, floors: { corpus: 12, daily: 2 } },
  }),
]
