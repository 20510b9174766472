import { LRUCache } from 'lru-cache'
import pg from 'pg'
import type { DigestSet } from '#core/credentials/digest-set.ts'
import { DATABASE_BOUNDS } from '#core/db/bounds.ts'
import { listenForAccessChanges, readAccess, readValidDigests, type Access } from '#core/db/access.ts'
import type { Database } from '#core/db/pool.ts'
import type { Log } from '#core/platform/log.ts'
import { GATEWAY_BOUNDS } from './bounds.ts'

/**
 * Caches the access of API keys. An entry expires a fixed time after its read began; a notification from Postgres
 * empties the cache at once. If an entry cannot be read again, the read fails; a stale entry is never returned.
 */
export type AccessCache = ReturnType<typeof openAccessCache>

export function openAccessCache(deps: {
  readonly database: Database
  readonly databaseUrl: string
  readonly environment: string
  readonly log: Log
}) {
  const { database, log } = deps
  const access = createReadCache<Access | undefined>(GATEWAY_BOUNDS.accessCacheEntriesMax)
  const valid = createReadCache<DigestSet>(1)
  const listening = listenForChanges(deps.databaseUrl, log, () => {
    access.clear()
    valid.clear()
  })

  return {
    /** Returns undefined where no such key exists. */
    read: (digests: readonly Buffer[]) =>
      access.get(digests[0]?.toString('base64') ?? '', () => readAccess(database, digests)),
    /** Whether one of the digests belongs to a valid key, without a database read per call. */
    isKnown: async (digests: readonly Buffer[]): Promise<boolean> => {
      const known = await valid.get('', () =>
        readValidDigests(database, deps.environment, GATEWAY_BOUNDS.validDigestsMax),
      )
      return digests.some((digest) => known.has(digest))
    },
    close: () => listening.close(),
  }
}

/** Concurrent readers share one read. The life of an entry is measured on the monotonic clock, from before its read. */
function createReadCache<T>(max: number) {
  const cache = new LRUCache<string, Promise<T>>({ max, ttl: GATEWAY_BOUNDS.accessCacheMs })
  return {
    get: (key: string, read: () => Promise<T>) => {
      const cached = cache.get(key)
      if (cached !== undefined) return cached
      const reading = read()
      cache.set(key, reading)
      reading.catch(() => {
        if (cache.peek(key) === reading) cache.delete(key)
      })
      return reading
    },
    clear: () => cache.clear(),
  }
}

/** Keeps one connection on LISTEN. A reconnect counts as a change, because notifications may have been missed. */
function listenForChanges(databaseUrl: string, log: Log, changed: () => void): { close(): Promise<void> } {
  let client: pg.Client | undefined
  let timer: NodeJS.Timeout | undefined
  let closed = false

  function again(error: unknown): void {
    if (closed || timer !== undefined) return
    log.warn('access notifications lost', {}, error)
    timer = setTimeout(() => {
      timer = undefined
      void connect()
    }, GATEWAY_BOUNDS.accessListenRetryMs)
  }
  async function connect(): Promise<void> {
    const next = new pg.Client({
      connectionString: databaseUrl,
      keepAlive: true,
      connectionTimeoutMillis: DATABASE_BOUNDS.databaseQueryTimeoutMs,
    })
    client = next
    next.on('error', again)
    next.on('end', () => again(undefined))
    next.on('notification', changed)
    try {
      await next.connect()
      await listenForAccessChanges(next)
      changed()
    } catch (error) {
      await next.end().catch(() => undefined)
      again(error)
    }
  }
  void connect()
  return {
    close: async () => {
      closed = true
      clearTimeout(timer)
      await client?.end().catch(() => undefined)
    },
  }
}
