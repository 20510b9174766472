import pg from 'pg'
import { OperatorError } from '#core/platform/errors.ts'

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
