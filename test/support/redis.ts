import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { inject, onTestFinished } from 'vitest'
import { startRedis, type LocalRedis } from '#operator/demo/local/redis.ts'
import { freePort, startSupervised, untilReady } from '#operator/demo/local/supervised-process.ts'
import type { RunServers } from './servers.ts'
import { until } from './until.ts'

const DATABASES = 64
/** Database 0 holds which of the others are taken. */
const TAKEN = 'taken'

/** Runs commands on one connection, which fails at once if the server does not answer. */
export async function withRedis<T>(url: string, work: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 })
  client.on('error', () => undefined)
  using ending = new DisposableStack()
  ending.defer(() => client.disconnect())
  await client.connect()
  return await work(client)
}

/**
 * An empty logical database of the run's Redis. Commands that reach across databases (FLUSHALL, CONFIG, SHUTDOWN,
 * CLIENT KILL) need `startOwnRedis` instead.
 */
export async function openTestRedis({ redisPort: port }: Pick<RunServers, 'redisPort'> = inject('servers')) {
  const urlOf = (database: number): string => `redis://127.0.0.1:${port}/${database}`
  const database = await withRedis(urlOf(0), async (client) => {
    for (let candidate = 1; candidate < DATABASES; candidate++)
      if ((await client.sadd(TAKEN, candidate)) === 1) return candidate
    throw new Error(`all ${DATABASES - 1} logical databases are taken: release what openTestRedis gave`)
  })
  const url = urlOf(database)
  const flush = (): Promise<void> => withRedis(url, async (client) => void (await client.flushdb()))
  await flush()
  return {
    url,
    flush,
    /** Empties the database and releases it. */
    release: async () => {
      await flush()
      await withRedis(urlOf(0), (client) => client.srem(TAKEN, database))
    },
  }
}

/** A Redis of the test's own, to stop, crash and restart; `stop` removes its files. */
export async function startOwnRedis(settings: Readonly<Record<string, string>> = {}): Promise<LocalRedis> {
  const folder = mkdtempSync(join(tmpdir(), 'evidence-redis-'))
  const redis = await startRedis({ folder, settings })
  return {
    ...redis,
    stop: async () => {
      await redis.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** A node of a Redis Cluster; its default bus port, 10,000 above the other, can be taken by any outgoing connection. */
export async function startClusterNode(): Promise<LocalRedis> {
  return startOwnRedis({ 'cluster-enabled': 'yes', 'cluster-port': String(await freePort()) })
}

/** Settings of a server that replicas attach to: they need not wait for each other. */
export const PRIMARY_SETTINGS = { 'repl-diskless-sync-delay': '0' } as const

/** A replica of the given server; it has caught up with it. */
export async function startReplica(
  primary: LocalRedis,
  settings: Readonly<Record<string, string>> = {},
): Promise<LocalRedis> {
  const replica = await startOwnRedis({ ...PRIMARY_SETTINGS, replicaof: `127.0.0.1 ${primary.port}`, ...settings })
  await until('the replica has caught up', () =>
    withRedis(replica.url, async (client) => (await client.info('replication')).includes('master_link_status:up')),
  )
  return replica
}

export type TestSentinel = Awaited<ReturnType<typeof startSentinel>>

const SENTINEL_START_MS = 20_000
const SENTINEL_STOP_MS = 10_000

/**
 * A Sentinel that decides alone, on a free port of loopback.
 * @param user a user of the Sentinel, as `name:password`. Nobody may use it without a login then.
 */
export async function startSentinel(
  primary: Pick<LocalRedis, 'program' | 'port'>,
  user?: string,
  { downAfterMs = 500, host = '127.0.0.1' }: { readonly downAfterMs?: number; readonly host?: string } = {},
) {
  const folder = mkdtempSync(join(tmpdir(), 'evidence-sentinel-'))
  const [port, name, file, logFile] = [await freePort(), 'limits', join(folder, 'sentinel.conf'), join(folder, 'log')]
  const settings = [
    `bind ${host}`,
    `port ${port}`,
    `dir ${folder}`,
    `sentinel monitor NAME ${host} ${primary.port} 1`,
    `sentinel down-after-milliseconds NAME ${downAfterMs}`,
    'sentinel failover-timeout NAME 5000',
    ...(user === undefined ? [] : ['user default off', `user ${user.replace(':', ' on >')} +@all`]),
  ]
  writeFileSync(file, `${settings.join('\n').replaceAll('NAME', name)}\n`)
  const process = startSupervised({
    name: 'Sentinel',
    command: [primary.program, file, '--sentinel'],
    environment: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
    folder,
    logFile,
    stopSignal: 'TERM',
  })
  const stop = async (): Promise<void> => {
    await process.stop(SENTINEL_STOP_MS)
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    const login = user === undefined ? '' : `${user}@`
    await untilReady('Sentinel', process, SENTINEL_START_MS, logFile, () =>
      withRedis(`redis://${login}${host}:${port}`, async (client) => (await client.ping()) === 'PONG'),
    )
  } catch (error) {
    await stop()
    throw error
  }
  /** REDIS_URL of a logical database of the primary that the Sentinel watches. */
  const urlOf = (database: number): string => `redis-sentinel://${host}:${port}/${name}/${database}`
  return { port, url: `redis://${host}:${port}`, urlOf, stop }
}

/** Resolves once the Sentinel knows a replica that it can promote. */
export async function replicaKnown(sentinel: TestSentinel): Promise<void> {
  await until('the Sentinel knows the replica', () =>
    withRedis(sentinel.url, async (client) => {
      const replicas = await client.call('SENTINEL', 'REPLICAS', 'limits')
      return Array.isArray(replicas) && replicas.length > 0 && !JSON.stringify(replicas).includes('disconnected')
    }),
  )
}

/** Stops a server at the end of the test that started it. */
export function stopping<T extends { stop(): Promise<unknown> }>(server: T): T {
  onTestFinished(async () => void (await server.stop()))
  return server
}
