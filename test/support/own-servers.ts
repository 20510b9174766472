import { join } from 'node:path'
import { openDatabase } from '#core/db/pool.ts'
import type { Database } from '#core/db/pool.ts'
import { createLog } from '#core/platform/log.ts'
import { startPostgres } from '#operator/demo/local/postgres.ts'
import { startRedis } from '#operator/demo/local/redis.ts'
import { createSchema } from '#operator/demo/local/schema.ts'
import type { StackSettings } from '#operator/demo/local/stack.ts'
import type { Steps } from '#operator/demo/steps.ts'
import type { Operator } from '#operator/actions/operator.ts'

const CONNECTIONS_MAX = 4
const STATEMENT_TIMEOUT_MS = 120_000

/** Postgres and Redis of a command line, and what the processes of a service on them need. */
export interface OwnServers {
  readonly settings: StackSettings
  /** Owns the schema; reads what the service recorded. */
  readonly owner: Database
  readonly operator: Operator
  readonly operatorUrl: string
}

export interface OwnServersOptions extends Pick<StackSettings, 'folder' | 'secrets' | 'environment'> {
  /** Of the command line, in the audit trail. */
  readonly name: string
  /** Files of both servers; `folder` unless given. */
  readonly serversFolder?: string
}

/** Starts both with an empty schema of the service. They stop with the steps. */
export async function startOwnServers(options: OwnServersOptions, steps: Steps): Promise<OwnServers> {
  const { name, serversFolder, ...shared } = options
  const folder = serversFolder ?? shared.folder
  const onLog = (line: string): void => steps.note(line)
  const postgres = await steps.run('Postgres', () => startPostgres({ folder: join(folder, 'postgres'), onLog }))
  steps.onStop(() => postgres.stop())
  const redis = await steps.run('Redis', () => startRedis({ folder: join(folder, 'redis'), onLog }))
  steps.onStop(() => redis.stop())
  const { gatewayUrl, jobsUrl, operatorUrl } = await steps.run('schema', () => createSchema(postgres, 'evidence'))
  const open = (url: string): Database => {
    const database = openDatabase(url, createLog(name, 'silent'), CONNECTIONS_MAX, STATEMENT_TIMEOUT_MS)
    steps.onStop(() => database.end())
    return database
  }
  return {
    settings: {
      ...shared,
      gatewayDatabaseUrl: gatewayUrl,
      jobsDatabaseUrl: jobsUrl,
      redisUrl: redis.url,
      keyEnvironment: 'live',
    },
    owner: open(postgres.adminUrl('evidence')),
    operator: { database: open(operatorUrl), actor: name },
    operatorUrl,
  }
}
