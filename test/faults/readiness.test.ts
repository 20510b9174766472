import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { GATEWAY_BOUNDS } from '#gateway/bounds.ts'
import type { LocalRedis } from '#operator/demo/local/redis.ts'
import { startGateway, type LocalGateway } from '#operator/demo/local/stack.ts'
import { startFaultProxy, type FaultProxy } from '#test/support/proxy.ts'
import { startOwnRedis } from '#test/support/redis.ts'
import { startTestService, type TestService } from '#test/support/service.ts'
import { loadedOn, withSearchNode } from '#test/support/search-node.ts'
import { CALL_TIMEOUT_MS, expectEventually } from '#test/support/until.ts'
import { adjustedNowMs } from '#test/support/clock.ts'

const dependencySchema = z.strictObject({ state: z.enum(['up', 'down']), reason: z.string().optional() })
const readinessSchema = z.strictObject({
  status: z.enum(['ready', 'not ready']),
  faults: z.array(z.string()),
  dependencies: z.strictObject({
    postgres: dependencySchema,
    redis: dependencySchema,
    search: dependencySchema,
    models: dependencySchema,
  }),
  not_served: z.array(z.object({ knowledge_base: z.string(), reason: z.string() })).optional(),
})
type Dependency = keyof z.infer<typeof readinessSchema>['dependencies']

let redis: LocalRedis
let service: TestService
let postgres: FaultProxy
let gateways: readonly LocalGateway[]
beforeAll(async () => {
  redis = await startOwnRedis()
  service = await startTestService({ gateways: 0, redisUrl: redis.url })
  postgres = await startFaultProxy(service.settings.gatewayDatabaseUrl)
  const settings = { ...service.settings, gatewayDatabaseUrl: postgres.url }
  const addresses = service.searchNodes.map(({ address }) => address)
  gateways = await Promise.all(
    ['gateway-one', 'gateway-two'].map(async (name) => service.add(await startGateway(settings, addresses, name))),
  )
})
afterEach(() => {
  postgres.set('pass')
  service.searchNodes[0]?.signal('SIGCONT')
})
afterAll(async () => {
  await service?.stop()
  await redis?.stop()
  await postgres?.stop()
})

async function readinessOf(gateway: LocalGateway) {
  const beganMs = adjustedNowMs()
  const reply = await fetch(`${gateway.internalUrl}/readyz`)
  const body = readinessSchema.parse(await reply.json())
  return { code: reply.status, ms: adjustedNowMs() - beganMs, ...body }
}

/**
 * Waits until the reply and the metrics name this state. Every reply until then is 200, and faster than any check of a
 * dependency.
 */
async function expectReadyUntil(gateway: LocalGateway, dependency: Dependency, state: 'up' | 'down'): Promise<void> {
  const said = async (): Promise<'up' | 'down'> => {
    const readiness = await readinessOf(gateway)
    expect(readiness).toMatchObject({ code: 200, status: 'ready', faults: [] })
    expect(readiness.ms).toBeLessThan(GATEWAY_BOUNDS.dependencyCheckTimeoutMs)
    const { state: now, reason } = readiness.dependencies[dependency]
    expect(reason === undefined).toBe(now === 'up')
    return now
  }
  await expectEventually(said, state)
  const line = `evidence_dependency_up{dependency="${dependency}"} ${state === 'up' ? 1 : 0}`
  await expectEventually(
    async () => (await (await fetch(`${gateway.internalUrl}/metrics`)).text()).includes(line),
    true,
  )
}

const FAULTS: readonly (readonly [string, Dependency, () => void | Promise<void>, () => void | Promise<void>])[] = [
  [
    'the search node hangs',
    'search',
    () => service.searchNodes[0]?.signal('SIGSTOP'),
    () => service.searchNodes[0]?.signal('SIGCONT'),
  ],
  ['Redis is killed', 'redis', () => redis.kill(), () => redis.restart()],
  ['Postgres hangs', 'postgres', () => postgres.set('stall'), () => postgres.set('pass')],
  ['Postgres is gone', 'postgres', () => postgres.set('cut'), () => postgres.set('pass')],
]

test.each(FAULTS)(
  'while %s every gateway stays ready and answers at once; its reply and metrics say so until it is back',
  async (_, dependency, lose, restore) => {
    await lose()
    await Promise.all(gateways.map((gateway) => expectReadyUntil(gateway, dependency, 'down')))
    const reasons = async (gateway: LocalGateway) =>
      (await readinessOf(gateway)).not_served?.map(({ reason }) => reason)
    const lost = dependency === 'search' ? ['no search node that answers holds its active version'] : undefined
    for (const gateway of gateways) await expectEventually(() => reasons(gateway), lost)
    await restore()
    await Promise.all(gateways.map((gateway) => expectReadyUntil(gateway, dependency, 'up')))
  },
)

test('a gateway is first ready when each active version can be searched, and stays ready where none can', async () => {
  const [node] = service.searchNodes
  if (node === undefined) throw new Error('no node')
  service.jobs.signal('SIGSTOP')
  await withSearchNode(node.address, (client) => client.releaseVersion(service.versionId, CALL_TIMEOUT_MS))
  const starting = startGateway(service.settings, [node.address], 'gateway-cold').then(service.add)
  const log = join(service.settings.folder, 'logs', 'gateway-cold.log')
  await expectEventually(() => readFileSync(log, 'utf8').includes('an active version is on no search node yet'), true)
  for (const gateway of gateways) expect((await readinessOf(gateway)).code).toBe(200)
  service.jobs.signal('SIGCONT')
  expect((await readinessOf(await starting)).code).toBe(200)
  expect(await loadedOn(node.address)).toContain(service.versionId)
})

test('a schema that does not fit any more makes every gateway not ready until it fits again', async () => {
  const schemaFits = async (fits: boolean): Promise<void> => {
    for (const gateway of gateways)
      await expectEventually(async () => (await readinessOf(gateway)).code, fits ? 200 : 503)
  }
  await service.owner.query('alter table schema_migrations rename to schema_migrations_away')
  try {
    await schemaFits(false)
    for (const gateway of gateways) expect((await readinessOf(gateway)).faults.join()).toContain('migration')
  } finally {
    await service.owner.query('alter table schema_migrations_away rename to schema_migrations')
  }
  await schemaFits(true)
})
