import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { inject } from 'vitest'
import { startRedis } from '#jobs/cli/local/redis.ts'
import type { LocalRedis } from '#jobs/cli/local/redis.ts'
import type { RunServers } from './setup.ts'
import { until } from './until.ts'

const DATABASES = 64
/** Database 0 holds which of the others are taken. */
const TAKEN = 'taken'

export interface TestRedis {
  /** A logical database of this Redis that no other test file uses. */
  readonly url: string
  flush(): Promise<void>
  /** Empties the database and releases it. */
  release(): Promise<void>
}

/** Runs commands on one connection, which fails at once if the server does not answer. */
export async function withRedis<T>(url: string, work: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 })
  client.on('error', () => undefined)
  try {
    await client.connect()
    return await work(client)
  } finally {
    client.disconnect()
  }
}

/**
 * An empty logical database of the run's Redis. Commands that reach across databases (FLUSHALL, CONFIG, SHUTDOWN,
 * CLIENT KILL) need `startOwnRedis` instead.
 */
export async function openTestRedis(
  { redisPort: port }: Pick<RunServers, 'redisPort'> = inject('servers'),
): Promise<TestRedis> {
  const urlOf = (database: number): string => `redis://127.0.0.1:${port}/${database}`
  const database = await withRedis(urlOf(0), async (client) => {
    for (let candidate = 1; candidate < DATABASES; candidate++)
      if ((await client.sadd(TAKEN, candidate)) === 1) return candidate
    throw new Error(`all ${DATABASES - 1} logical databases are taken: release what createTestRedis gave`)
  })
  const url = urlOf(database)
  const flush = (): Promise<void> => withRedis(url, async (client) => void (await client.flushdb()))
  await flush()
  return {
    url,
    flush,
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

/** A replica of the given server; it has caught up with it. */
export async function startReplica(primary: LocalRedis): Promise<LocalRedis> {
  const replica = await startOwnRedis({ replicaof: `127.0.0.1 ${primary.port}` })
  await until('the replica has caught up', 20_000, () =>
    withRedis(replica.url, async (client) => (await client.info('replication')).includes('master_link_status:up')),
  )
  return replica
}
