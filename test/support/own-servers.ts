import { join } from 'node:path'
import { openDatabase, type Database } from '#core/db/pool.ts'
import { createLog } from '#core/platform/log.ts'
import { startPostgres, createSchema } from '#operator/demo/local/postgres.ts'
import { startRedis } from '#operator/demo/local/redis.ts'
import type { StackSettings } from '#operator/demo/local/stack.ts'
import type { Steps } from '#operator/demo/steps.ts'
import type { Operator } from '#operator/actions/operator.ts'

const CONNECTIONS_MAX = 4
const STATEMENT_TIMEOUT_MS = 120_000

export interface OwnServersOptions extends Pick<StackSettings, 'folder' | 'secrets' | 'environment'> {
  /** Of the command line, in the audit trail. */
  readonly name: string
  /** Files of both servers; `folder` unless given. */
  readonly serversFolder?: string
}

/**
 * Starts Postgres and Redis of a command line, with an empty schema of the service. They stop with the steps.
 * @returns what the processes of a service on them need.
 */
export async function startOwnServers(options: OwnServersOptions, steps: Steps) {
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
  const settings: StackSettings = {
    ...shared,
    gatewayDatabaseUrl: gatewayUrl,
    jobsDatabaseUrl: jobsUrl,
    redisUrl: redis.url,
    keyEnvironment: 'live',
  }
  const operator: Operator = { database: open(operatorUrl), actor: name }
  /** `owner`: of the schema; reads what the service recorded. */
  return { settings, owner: open(postgres.adminUrl('evidence')), operator, operatorUrl }
}
