import { constants, setPriority } from 'node:os'
import { openDatabase, type Database } from '#core/db/pool.ts'
import { DATABASE_BOUNDS } from '#core/db/bounds.ts'
import { createLog, type Log, type LogLevel } from '#core/platform/log.ts'
import { adoptSdkEnvironment } from '#jobs/platform/config.ts'
import { once } from 'node:events'
import { z } from 'zod'
import { BUILD_BOUNDS } from './bounds.ts'

interface ProgramConfig {
  readonly DATABASE_URL: string
  readonly LOG_LEVEL: LogLevel
}

const toldSchema = z.tuple([z.object({ environment: z.record(z.string(), z.string()) })], z.unknown())

export interface ProgramContext<M, C> {
  readonly config: C
  readonly database: Database
  readonly log: Log
  readonly tell: (message: M) => Promise<void>
}

/**
 * Works as a program of the job worker that `runProgram` started and told its environment, tells it the outcome and
 * ends. It ends with the worker too. The process may be killed at any point.
 */
export async function asProgram<M, C extends ProgramConfig>(
  configOf: (environment: NodeJS.ProcessEnv) => C,
  work: (context: ProgramContext<M, C>) => Promise<M>,
): Promise<void> {
  process.on('disconnect', () => process.exit(1))
  const [{ environment }] = toldSchema.parse(await once(process, 'message'))
  adoptSdkEnvironment(environment)
  const config = configOf(environment)
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
