import pg from 'pg'
import { z } from 'zod'
import type { Log } from '#core/platform/log.ts'
import { DATABASE_BOUNDS } from './bounds.ts'

export type Database = pg.Pool
/** The pool, or one client inside a transaction. */
export type Queryable = Pick<pg.Pool, 'query'>

export function openDatabase(
  url: string,
  log: Log,
  connectionsMax: number,
  statementTimeoutMs: number = DATABASE_BOUNDS.databaseStatementTimeoutMs,
): Database & AsyncDisposable {
  const pool = new pg.Pool({
    connectionString: url,
    max: connectionsMax,
    connectionTimeoutMillis: statementTimeoutMs,
    idleTimeoutMillis: DATABASE_BOUNDS.databaseConnectionIdleMs,
    statement_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: DATABASE_BOUNDS.transactionIdleMs,
    query_timeout:
      statementTimeoutMs + (DATABASE_BOUNDS.databaseQueryTimeoutMs - DATABASE_BOUNDS.databaseStatementTimeoutMs),
    application_name: 'evidence',
  })
  pool.on('error', (error) => log.warn('idle database connection lost', {}, error))
  return Object.assign(pool, { [Symbol.asyncDispose]: () => pool.end() })
}

/**
 * Lends a client of the pool to `work`. One whose connection broke is destroyed, not returned.
 * @param work calls `broke` where a query that ends its use fails.
 */
export async function withClient<T>(
  database: Database,
  work: (client: pg.PoolClient, broke: (error: Error) => void) => Promise<T>,
): Promise<T> {
  const client = await database.connect()
  let broken: Error | undefined
  // The pool listens only while a client is idle. An error event without a listener would end the process.
  const broke = (error: Error): void => void (broken = error)
  client.on('error', broke)
  try {
    return await work(client, broke)
  } finally {
    client.off('error', broke)
    client.release(broken)
  }
}

const NOW = 'select extract(epoch from clock_timestamp())::float8 * 1000 as now'

/** The clock of the server, ms since 1970-01-01. */
export async function databaseClockMs(database: Queryable): Promise<number> {
  return z.tuple([z.object({ now: z.number() })]).parse((await database.query(NOW)).rows)[0].now
}

export async function inTransaction<T>(database: Database, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  return withClient(database, async (client, broke) => {
    try {
      // The guards of the schema refuse any other level.
      await client.query('begin isolation level read committed')
      const result = await work(client)
      await client.query('commit')
      return result
    } catch (error) {
      await client.query('rollback').catch(broke)
      throw error
    }
  })
}
