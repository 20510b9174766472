import pg from 'pg'
import { z } from 'zod'
import { OperatorError } from '#core/platform/errors.ts'
import { DATABASE_BOUNDS } from './bounds.ts'
import { valueOf, valuesOf } from './rows.ts'

/** SQLSTATE of a lock that was not granted within `lock_timeout`, which the functions of the schema set. */
const LOCK_NOT_AVAILABLE = '55P03'

/**
 * Waits for a statement that takes a lock of the schema.
 * @param what is locked, as the subject of a sentence.
 * @throws OperatorError when another session holds the lock for too long.
 */
export async function withinLockTimeout<T>(what: string, statement: Promise<T>): Promise<T> {
  return statement.catch((cause: unknown) => {
    if (!(cause instanceof pg.DatabaseError) || cause.code !== LOCK_NOT_AVAILABLE) throw cause
    throw new OperatorError(
      `${what} is locked by another session, and nothing was changed: repeat the command when that session has ended.`,
      { cause },
    )
  })
}

/**
 * Takes the lock of a periodic task until the transaction ends. A worker that stands still loses it with its
 * transaction, and another one goes on. @returns false while another session has it.
 */
export const tryLockTask = valueOf(z.boolean())<[task: string, idleMs: number]>`
  select pg_try_advisory_xact_lock(hashtextextended('task ' || $1, 0)), set_config(
    'idle_in_transaction_session_timeout', greatest($2::int, ${String(DATABASE_BOUNDS.transactionIdleMs)})::text, true)`

/** The sessions for which sessions of this role wait. */
export const readBlockers = valuesOf(z.string())`
  select distinct format('%s of %s (%s)', b.pid, b.usename, b.application_name)
  from pg_stat_activity as w cross join unnest(pg_blocking_pids(w.pid)) as blocking
  join pg_stat_activity as b on b.pid = blocking
  where w.usename = current_user and w.wait_event_type = 'Lock'`
