import type { DatabaseSync } from 'node:sqlite'
import { crc32 } from 'node:zlib'
import { z } from 'zod'
import { DATABASE_BOUNDS } from '#core/db/bounds.ts'
import { sqliteFault } from '#core/platform/sqlite-fault.ts'
import { inTransaction, openCacheFile, removeCacheFile, bytesInUse, freePages } from './file.ts'
import { statSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'

export interface CachedVector {
  /** Unit length. */
  readonly vector: Float32Array<ArrayBuffer>
  /** The text was probably longer than the model's limit. */
  readonly overlong: boolean
}

export type VectorEntry = CachedVector & { readonly digest: Buffer }

export interface VectorCacheOptions {
  /** A text that is equal for equal embedding spaces only. */
  readonly space: string
  readonly dimensions: number
  readonly bytesMax: number
  /** Called with a fault of the file, which a caller logs. */
  readonly onFault: (error: unknown) => void
  readonly nowMs?: () => number
}

const INSERT_SPACE = 'insert into space (key) values (?) on conflict do nothing'
const FIND_SPACE = 'select id from space where key = ?'
const FIND_VECTOR = `
select e.id, e.overlong, e.used, v.checksum, v.value
from entry e join vector v on v.id = e.id where e.space = ? and e.digest = ?`
const INSERT_ENTRY = `
insert into entry (space, digest, overlong, used) values (?, ?, ?, ?)
on conflict (space, digest) do update set overlong = excluded.overlong, used = excluded.used returning id`
const REPLACE_VECTOR = 'insert or replace into vector (id, checksum, value) values (?, ?, ?)'
const TOUCH_ENTRY = 'update entry set used = ? where id = ?'
const CLEAR_VECTORS = 'delete from vector where id in (select id from entry where space = ?)'
const CLEAR_ENTRIES = 'delete from entry where space = ?'

const idRow = z.object({ id: z.int() })
const vectorRow = z.object({
  id: z.int(),
  overlong: z.int(),
  used: z.int(),
  checksum: z.int(),
  value: z.instanceof(Uint8Array),
})

/**
 * The vectors of one embedding space in a file that builds share. A fault of the file is a missing vector, never a
 * wrong one, and never ends a build.
 */
export type VectorCache = ReturnType<typeof openVectorCache>

/** A file that cannot be opened holds nothing, and a damaged one is replaced. After several faults it is not used. */
export function openVectorCache(path: string, options: VectorCacheOptions) {
  let space: CachedSpace | undefined
  let faults = 0
  function close(): void {
    space?.connection.close()
    space = undefined
  }
  function attempt<T>(otherwise: T, work: (held: CachedSpace) => T): T {
    if (faults >= DATABASE_BOUNDS.vectorCacheFaultsMax) return otherwise
    try {
      space ??= openSpace(path, options)
      return work(space)
    } catch (error) {
      options.onFault(error)
      const fault = sqliteFault(error)
      if (fault === 'busy') return otherwise
      faults += 1
      close()
      if (fault === 'damaged') removeCacheFile(path)
      return otherwise
    }
  }
  return {
    /** Returns what is held of the digests, by digest in hex. */
    read: (digests: readonly Buffer[]) =>
      attempt<ReadonlyMap<string, CachedVector>>(new Map(), (held) => held.read(digests)),
    /** Adds or replaces. The least recently used vectors leave once the file exceeds its bound. */
    write: (entries: readonly VectorEntry[]) => attempt(undefined, (held) => held.write(entries)),
    clear: () => attempt(undefined, (held) => held.clear()),
    close,
  }
}

type CachedSpace = ReturnType<typeof createSpace>

function openSpace(path: string, options: VectorCacheOptions): CachedSpace {
  const connection = openCacheFile(path, DATABASE_BOUNDS.vectorCacheBusyTimeoutMs)
  try {
    return createSpace(connection, options)
  } catch (error) {
    connection.close()
    throw error
  }
}

function createSpace(connection: DatabaseSync, options: VectorCacheOptions) {
  const { space: key, dimensions, bytesMax, nowMs = Date.now } = options
  connection.prepare(INSERT_SPACE).run(key)
  const space = idRow.parse(connection.prepare(FIND_SPACE).get(key)).id
  const [find, touch] = [connection.prepare(FIND_VECTOR), connection.prepare(TOUCH_ENTRY)]
  const [insert, replace] = [connection.prepare(INSERT_ENTRY), connection.prepare(REPLACE_VECTOR)]
  const evict = createEviction(connection)
  const checksumOf = (digest: Uint8Array, value: Uint8Array): number => crc32(value, crc32(digest, crc32(key)))
  const nowSeconds = (): number => Math.floor(nowMs() / 1_000)

  return {
    connection,
    read(digests: readonly Buffer[]) {
      const found = new Map<string, CachedVector>()
      const used: number[] = []
      for (const digest of digests) {
        const row = vectorRow.optional().parse(find.get(space, digest))
        if (row === undefined || checksumOf(digest, row.value) !== row.checksum) continue
        const vector = unitVectorOf(row.value, dimensions)
        if (vector === undefined) continue
        found.set(digest.toString('hex'), { vector, overlong: row.overlong === 1 })
        if (nowSeconds() - row.used > DATABASE_BOUNDS.vectorCacheUseSeconds) used.push(row.id)
      }
      if (used.length > 0)
        inTransaction(connection, () => {
          for (const id of used) touch.run(nowSeconds(), id)
        })
      return found
    },
    write(entries: readonly VectorEntry[]) {
      inTransaction(connection, () => {
        for (const { digest, vector, overlong } of entries) {
          const value = new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength)
          const { id } = idRow.parse(insert.get(space, digest, Number(overlong), nowSeconds()))
          replace.run(id, checksumOf(digest, value), value)
        }
      })
      evict(bytesMax)
    },
    clear() {
      inTransaction(connection, () => {
        connection.prepare(CLEAR_VECTORS).run(space)
        connection.prepare(CLEAR_ENTRIES).run(space)
      })
    },
  }
}

/** Returns the vector, or undefined unless it has the dimensions of the space and unit length. */
function unitVectorOf(value: Uint8Array, dimensions: number): Float32Array<ArrayBuffer> | undefined {
  if (value.length !== dimensions * 4) return undefined
  const vector = new Float32Array(dimensions)
  new Uint8Array(vector.buffer).set(value)
  const squares = vector.reduce((sum, each) => sum + each * each, 0)
  return Math.abs(squares - 1) < DATABASE_BOUNDS.unitLengthTolerance ? vector : undefined
}

/** The index on `used` yields the rows in this order. */
const EVICT_ENTRIES = 'delete from entry where id in (select id from entry order by used, id limit ?) returning id'
const EVICT_VECTOR = 'delete from vector where id = ?'
const RETURN_PAGES = `pragma incremental_vacuum(${DATABASE_BOUNDS.vectorCacheVacuumPages})`

const idRows = z.array(z.object({ id: z.int() }))

/**
 * Returns a function that removes the least recently used vectors, at most one step of them.
 * @returns whether the vectors that are left exceed the bound.
 */
function createEviction(connection: DatabaseSync): (bytesMax: number) => boolean {
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
