import { constants, setPriority } from 'node:os'
import { openDatabase, type Database } from '#core/db/pool.ts'
import { DATABASE_BOUNDS } from '#core/db/bounds.ts'
import { createLog, type Log } from '#core/platform/log.ts'
import { jobsConfig, type JobsConfig } from '#jobs/platform/config.ts'
import { BUILD_BOUNDS } from './bounds.ts'

export interface ProgramContext<M> {
  readonly config: JobsConfig
  readonly database: Database
  readonly log: Log
  readonly tell: (message: M) => Promise<void>
}

/**
 * Works as a program of the job worker that `runProgram` started, tells it the outcome and ends. It ends with the
 * worker too. The process may be killed at any point.
 */
export async function asProgram<M>(work: (context: ProgramContext<M>) => Promise<M>): Promise<void> {
  process.on('disconnect', () => process.exit(1))
  const config = jobsConfig()
  const log = createLog('jobs', config.LOG_LEVEL)
  // It may use every core; serving has priority.
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
  const database = openDatabase(
    config.DATABASE_URL,
    log,
    DATABASE_BOUNDS.buildDatabaseConnectionsMax,
    BUILD_BOUNDS.buildStatementTimeoutMs,
  )
  const outcome = await work({ config, database, log, tell })
  await database.end()
  await tell(outcome)
  process.disconnect()
  process.exit(0)
}

function tell(message: unknown): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined) resolve()
    else process.send(message, () => resolve())
  })
}
