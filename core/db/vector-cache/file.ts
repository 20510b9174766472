import { mkdirSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { z } from 'zod'
import { DATABASE_BOUNDS } from '#core/db/bounds.ts'
import { NO_DATABASE_FILE, sqliteFault } from '#core/platform/sqlite-fault.ts'

/** "EVVC" in ASCII; with the number of the layout it tells a file of this cache from any other. */
const APPLICATION_ID = 0x45565643
const LAYOUT = 1

/**
 * A rollback journal also works on a network file system, where a write-ahead log does not. A killed process leaves a
 * journal that the next one rolls back.
 */
const SETTINGS = `
pragma page_size = 16384;
pragma auto_vacuum = incremental;
pragma journal_mode = truncate;
pragma synchronous = normal;
pragma cache_size = -${DATABASE_BOUNDS.vectorCachePagesKib};`

/** Times of use are beside the vectors, so that a use does not rewrite the vector. */
const SCHEMA = `
create table space (id integer primary key, key text not null unique) strict;
create table entry (
  id integer primary key, space integer not null, digest blob not null, overlong integer not null,
  used integer not null, unique (space, digest)
) strict;
create index entry_used on entry (used);
create table vector (id integer primary key, checksum integer not null, value blob not null) strict;
pragma application_id = ${APPLICATION_ID};
pragma user_version = ${LAYOUT};`

const pragmaRow = z.record(z.string(), z.number())

/** Opens or creates the file. A damaged file, or one of another program or layout, is replaced by an empty one. */
export function openCacheFile(path: string, busyTimeoutMs: number): DatabaseSync {
  mkdirSync(dirname(path), { recursive: true })
  try {
    return opened(path, busyTimeoutMs)
  } catch (error) {
    if (sqliteFault(error) !== 'damaged') throw error
    removeCacheFile(path)
    return opened(path, busyTimeoutMs)
  }
}

export function removeCacheFile(path: string): void {
  for (const file of [path, `${path}-journal`]) rmSync(file, { force: true })
}

class ForeignFile extends Error {
  readonly errcode = NO_DATABASE_FILE
}

function opened(path: string, busyTimeoutMs: number): DatabaseSync {
  const connection = new DatabaseSync(path, { timeout: busyTimeoutMs })
  try {
    connection.exec(SETTINGS)
    // Another process may create the same file at the same time.
    inTransaction(connection, () => {
      if (pragma(connection, 'schema_version') === 0) connection.exec(SCHEMA)
      const [application, layout] = [pragma(connection, 'application_id'), pragma(connection, 'user_version')]
      if (application !== APPLICATION_ID || layout !== LAYOUT) throw new ForeignFile()
    })
    return connection
  } catch (error) {
    connection.close()
    throw error
  }
}

/** Bytes of the pages in use; pages of removed vectors are used again before the file grows. */
export function bytesInUse(connection: DatabaseSync): number {
  return (pragma(connection, 'page_count') - freePages(connection)) * pragma(connection, 'page_size')
}

export function freePages(connection: DatabaseSync): number {
  return pragma(connection, 'freelist_count')
}

function pragma(connection: DatabaseSync, name: string): number {
  return pragmaRow.parse(connection.prepare(`pragma ${name}`).get())[name] ?? 0
}

export function inTransaction(connection: DatabaseSync, work: () => void): void {
  connection.exec('begin immediate')
  try {
    work()
    connection.exec('commit')
  } catch (error) {
    if (connection.isTransaction) connection.exec('rollback')
    throw error
  }
}
