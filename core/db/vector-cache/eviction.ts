import { statSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { z } from 'zod'
import { DATABASE_BOUNDS } from '#core/db/bounds.ts'
import { bytesInUse, freePages, inTransaction, openCacheFile, removeCacheFile, sqliteFault } from './file.ts'

/** The index on `used` yields the rows in this order. */
const EVICT_ENTRIES = 'delete from entry where id in (select id from entry order by used, id limit ?) returning id'
const EVICT_VECTOR = 'delete from vector where id = ?'
const RETURN_PAGES = `pragma incremental_vacuum(${DATABASE_BOUNDS.vectorCacheVacuumPages})`

const idRows = z.array(z.object({ id: z.int() }))

/**
 * Returns a function that removes the least recently used vectors, at most one step of them.
 * @returns whether the vectors that are left exceed the bound.
 */
export function createEviction(connection: DatabaseSync): (bytesMax: number) => boolean {
  const [evictEntries, evictVector] = [connection.prepare(EVICT_ENTRIES), connection.prepare(EVICT_VECTOR)]
  return (bytesMax) => {
    if (bytesInUse(connection) <= bytesMax) return false
    let evicted = 0
    inTransaction(connection, () => {
      const rows = idRows.parse(evictEntries.all(DATABASE_BOUNDS.vectorCacheEvictRows))
      for (const { id } of rows) evictVector.run(id)
      evicted = rows.length
    })
    return evicted > 0 && bytesInUse(connection) > bytesMax
  }
}

/**
 * Brings a file down to its bound and returns the freed pages to the file system. Bound 0 removes the file. A file in
 * use by another process is left for the next time. Event loop and file are free between two steps.
 * @returns the bytes by which the file shrank.
 */
export async function shrinkVectorCache(path: string, bytesMax: number): Promise<number> {
  const before = sizeOf(path)
  if (bytesMax === 0) removeCacheFile(path)
  else if (before > bytesMax) await shrink(path, bytesMax)
  return before - sizeOf(path)
}

async function shrink(path: string, bytesMax: number): Promise<void> {
  const connection = openCacheFile(path, DATABASE_BOUNDS.vectorCacheShrinkTimeoutMs)
  try {
    const evict = createEviction(connection)
    while (evict(bytesMax)) await nextTurn()
    const vacuum = connection.prepare(RETURN_PAGES)
    while (freePages(connection) > 0) {
      vacuum.all()
      await nextTurn()
    }
  } catch (error) {
    if (sqliteFault(error) !== 'busy') throw error
  } finally {
    connection.close()
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}
