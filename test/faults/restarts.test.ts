import { existsSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createSchema, startPostgres, type LocalPostgres } from '#operator/demo/local/postgres.ts'
import type { LocalService } from '#operator/demo/local/processes.ts'
import type { LocalRedis } from '#operator/demo/local/redis.ts'
import { startGateway, startJobs, startSearchNode } from '#operator/demo/local/stack.ts'
import type { Caller } from '#test/support/caller.ts'
import { adjustedNowMs } from '#test/support/clock.ts'
import { startOwnRedis } from '#test/support/redis.ts'
import { loadedOn } from '#test/support/search-node.ts'
import { TEMPLATE_DATABASE } from '#test/support/servers.ts'
import { startTestService, type TestService } from '#test/support/service.ts'
import { until } from '#test/support/until.ts'

const SERVICE_WITHIN_MS = 5_000

/** Of the servers' files; on its own, so that a restart finds the same data. */
const folder = mkdtempSync(join(tmpdir(), 'evidence-restarts-'))
let postgres: LocalPostgres
let redis: LocalRedis
let service: TestService
let caller: Caller
beforeAll(async () => {
  postgres = await startPostgres({ folder: join(folder, 'postgres') })
  redis = await startOwnRedis()
  const logins = await createSchema(postgres, TEMPLATE_DATABASE)
  const servers = { ...logins, adminUrl: postgres.adminUrl(TEMPLATE_DATABASE), redisPort: redis.port, folder }
  service = await startTestService({ servers, redisUrl: redis.url })
  caller = await service.createCaller()
  const [gateway] = service.gateways
  const [node] = service.searchNodes
  if (gateway === undefined || node === undefined) throw new Error('one gateway and one search node were asked for')
  address = node.address
  Object.assign(running, { gateway, node, worker: service.jobs })
  gatewayPort = portOf(gateway.baseUrl)
})
afterAll(async () => {
  await service?.stop()
  await redis?.stop()
  await postgres?.stop()
  rmSync(folder, { recursive: true, force: true })
})

let address = ''
let gatewayPort = 0
const portOf = (url: string): number => Number(url.split(':').at(-1))

const SERVICES = ['gateway', 'node', 'worker'] as const
type Service = (typeof SERVICES)[number]
const running: Partial<Record<Service, LocalService>> = {}

const START: Readonly<Record<Service, () => Promise<LocalService>>> = {
  gateway: () => startGateway(service.settings, [address], 'gateway-0', gatewayPort),
  node: () => startSearchNode(service.settings, 'search-node-0', portOf(address)),
  worker: () => startJobs(service.settings, [address], 'jobs'),
}

/** What can be taken away and brought back. `begin` resolves when it runs, `ready` when it can work. */
interface Part {
  /** A process of the service; otherwise a server, or the store. */
  readonly lose: () => Promise<unknown>
  readonly begin: () => Promise<{ readonly ready: Promise<unknown> }>
  /** Nobody needs it for a reply. */
  readonly isNeeded: boolean
}

function processOf(name: Service): Part {
  return {
    isNeeded: name !== 'worker',
    async lose() {
      running[name]?.signal('SIGKILL')
      await running[name]?.ended.catch(() => undefined)
    },
    async begin() {
      const log = running[name]?.logFile ?? ''
      const { size } = statSync(log)
      const ready = START[name]().then((started) => (running[name] = service.add(started)))
      ready.catch(() => undefined)
      // It has said something, or it has ended: it is as far as it gets by itself.
      await Promise.race([until(`the ${name} runs`, () => statSync(log).size > size), ready])
      return { ready }
    },
  }
}

const store = (): string => join(service.settings.folder, 'store')
const AT_ONCE = { ready: Promise.resolve() }
const PARTS: Readonly<Record<Service | 'postgres' | 'redis' | 'store', Part>> = {
  gateway: processOf('gateway'),
  node: processOf('node'),
  worker: processOf('worker'),
  postgres: {
    isNeeded: true,
    lose: () => postgres.kill(),
    async begin() {
      postgres = await startPostgres({ folder: join(folder, 'postgres'), port: postgres.port })
      return AT_ONCE
    },
  },
  redis: { isNeeded: true, lose: () => redis.kill(), begin: () => redis.restart().then(() => AT_ONCE) },
  store: {
    isNeeded: false,
    lose: async () => renameSync(store(), `${store()}-away`),
    async begin() {
      // A worker may have begun another one.
      while (existsSync(`${store()}-away`)) {
        rmSync(store(), { recursive: true, force: true })
        renameSync(`${store()}-away`, store())
      }
      return AT_ONCE
    },
  },
}
const NAMES = ['gateway', 'node', 'worker', 'postgres', 'redis', 'store'] as const
const PAIRS = NAMES.flatMap((restarted) =>
  NAMES.filter((down) => down !== restarted && restarted !== 'store').map((down) => [restarted, down] as const),
)

/** How long it takes until a request is served, once what is active is loaded. */
async function untilServed(): Promise<number> {
  await until('the search node holds what is active', async () =>
    (await loadedOn(address).catch((): string[] => [])).includes(service.versionId),
  )
  const fromMs = adjustedNowMs()
  await until('a request is served', async (seen) => {
    const status = await caller.ask().then(
      (answer) => answer.status,
      () => undefined,
    )
    seen(status)
    return status === 200
  })
  return adjustedNowMs() - fromMs
}

test.each(PAIRS)(
  '%s restarts while %s is down: requests are served within 5 s, with what they need',
  async (...pair) => {
    const [restarted, down] = [PARTS[pair[0]], PARTS[pair[1]]]
    await down.lose()
    await restarted.lose()
    const first = await restarted.begin()
    // A node loads from the store.
    const isNeeded = down.isNeeded || (pair[0] === 'node' && pair[1] === 'store')
    const withoutMs = isNeeded ? 0 : await untilServed()
    const second = await down.begin()
    expect(Math.max(withoutMs, await untilServed())).toBeLessThan(SERVICE_WITHIN_MS)
    await Promise.all([first.ready, second.ready])
  },
)
