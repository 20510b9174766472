import pg from 'pg'
import type { DigestSet } from '#core/credentials/digest-set.ts'
import { BOUNDS } from '#core/platform/bounds.ts'
import { listenForAccessChanges, readAccess, readValidDigests } from '#core/db/access.ts'
import type { Access } from '#core/db/access.ts'
import type { Database } from '#core/db/pool.ts'
import type { Log } from '#core/platform/log.ts'

/**
 * Caches the access of API keys. An entry expires a fixed time after its read began; a notification from Postgres
 * empties the cache at once. If an entry cannot be read again, the read fails; a stale entry is never returned.
 */
export interface AccessCache {
  /** undefined: no such key. */
  read(digests: readonly Buffer[]): Promise<Access | undefined>
  /** Whether one of the digests belongs to a valid key, without a database read per call. */
  isKnown(digests: readonly Buffer[]): Promise<boolean>
  close(): Promise<void>
}

interface Entry {
  /** On the monotonic clock, so that a change of the system time cannot extend its life. */
  readonly readBeganMs: number
  readonly access: Promise<Access | undefined>
}

export function openAccessCache(deps: {
  readonly database: Database
  readonly databaseUrl: string
  readonly environment: string
  readonly log: Log
}): AccessCache {
  const { database, log } = deps
  const entries = new Map<string, Entry>()
  let known: { readonly readBeganMs: number; readonly digests: Promise<DigestSet> } | undefined

  function forgetEverything(): void {
    entries.clear()
    known = undefined
  }
  const listening = listenForChanges(deps.databaseUrl, log, forgetEverything)

  return {
    read: (digests) => {
      const key = digests[0]?.toString('base64') ?? ''
      const cached = entries.get(key)
      if (cached !== undefined && performance.now() - cached.readBeganMs < BOUNDS.accessCacheMs) return cached.access
      const readBeganMs = performance.now()
      const access = readAccess(database, digests)
      const entry: Entry = { readBeganMs, access }
      if (entries.size >= BOUNDS.accessCacheEntriesMax) entries.clear()
      entries.set(key, entry)
      access.catch(() => {
        if (entries.get(key) === entry) entries.delete(key)
      })
      return access
    },
    isKnown: async (digests) => {
      if (known === undefined || performance.now() - known.readBeganMs >= BOUNDS.accessCacheMs) {
        const readBeganMs = performance.now()
        const reading = readValidDigests(database, deps.environment, BOUNDS.validDigestsMax)
        known = { readBeganMs, digests: reading }
        reading.catch(() => (known = undefined))
      }
      const valid = await known.digests
      return digests.some((digest) => valid.has(digest))
    },
    close: () => listening.close(),
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
    }, BOUNDS.accessListenRetryMs)
  }
  async function connect(): Promise<void> {
    const next = new pg.Client({
      connectionString: databaseUrl,
      keepAlive: true,
      connectionTimeoutMillis: BOUNDS.databaseQueryTimeoutMs,
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
