import { openDatabase } from '#core/db/pool.ts'
import type { Log } from '#core/platform/log.ts'

/** A statement of the operator may take a minute, so an unreachable database is detected with a shorter time-out. */
const CONNECT_TIMEOUT_MS = 5_000

/** @throws within seconds when no database answers. */
export async function assertDatabaseAnswers(url: string, log: Log): Promise<void> {
  const database = openDatabase(url, log, 1, CONNECT_TIMEOUT_MS)
  try {
    const client = await database.connect()
    client.release()
  } finally {
    await database.end()
  }
}
