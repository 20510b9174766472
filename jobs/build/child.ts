import { constants, setPriority } from 'node:os'
import { z } from 'zod'
import { openDatabase } from '#core/db/pool.ts'
import { DATABASE_BOUNDS } from '#core/db/bounds.ts'
import { BUILD_BOUNDS } from '#jobs/build/bounds.ts'
import { createLog } from '#core/platform/log.ts'
import { jobsConfig } from '#jobs/config.ts'
import { attemptBuild } from './attempt.ts'
import type { ChildMessage } from './run-child.ts'

/**
 * Runs a build once in its own process: `child.ts <build id> <attempt>`. The worker has begun the attempt, so it knows
 * the fence of a process that dies. The process may be killed at any point.
 */
async function main(): Promise<void> {
  process.on('disconnect', () => process.exit(1))
  const [buildId, attemptNumber] = z.tuple([z.uuid(), z.coerce.number().int()]).parse(process.argv.slice(2))
  const fence = { buildId, attempt: attemptNumber }
  const config = jobsConfig()
  const log = createLog('jobs', config.LOG_LEVEL)
  // A build uses every core; serving has priority.
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
  const database = openDatabase(
    config.DATABASE_URL,
    log,
    DATABASE_BOUNDS.buildDatabaseConnectionsMax,
    BUILD_BOUNDS.buildStatementTimeoutMs,
  )
  const message = await attemptBuild(fence, { config, database, log, onProgress: (mark) => void tell(mark) })
  await database.end()
  await tell(message)
  process.disconnect()
  process.exit(0)
}

function tell(message: ChildMessage): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined) resolve()
    else process.send(message, () => resolve())
  })
}

await main()
