import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import type { LoginUrls } from '#core/db/provision.ts'
import { startPostgres, createSchema } from '#operator/demo/local/postgres.ts'
import { startRedis } from '#operator/demo/local/redis.ts'

/** What the run's one Postgres and one Redis are reached by, in every test process. */
export interface RunServers extends LoginUrls {
  /** URLs are of the migrated template database, which `openTestDatabase` copies. This one is of the superuser. */
  readonly adminUrl: string
  readonly redisPort: number
  /** Files that tests share; removed after the run. */
  readonly folder: string
}

declare module 'vitest' {
  export interface ProvidedContext {
    servers: RunServers
  }
}

export const TEMPLATE_DATABASE = 'evidence_template'

/** Runs once before all test files; the returned function once after them. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), 'evidence-test-'))
  const say = (line: string): boolean => process.stderr.write(`${line}\n`)
  // An interrupted run skips the teardown; the servers end with this process, their files have to be told.
  const removeFiles = (): void => rmSync(folder, { recursive: true, force: true })
  process.once('exit', removeFiles)
  const running: { stop(): Promise<void> }[] = []
  const teardown = async (): Promise<void> => {
    await Promise.all(running.map((server) => server.stop()))
    process.removeListener('exit', removeFiles)
    removeFiles()
  }
  try {
    const settings = {
      // Four files at once may each run several gateways.
      max_connections: '400',
      // Its workers would visit a hundred short-lived databases, and delay the copies of the template.
      autovacuum: 'off',
    }
    const postgres = await startPostgres({ folder: join(folder, 'postgres'), settings, onLog: say })
    running.push(postgres)
    const redis = await startRedis({ folder: join(folder, 'redis'), onLog: say })
    running.push(redis)
    const logins = await createSchema(postgres, TEMPLATE_DATABASE)
    const adminUrl = postgres.adminUrl(TEMPLATE_DATABASE)
    project.provide('servers', { adminUrl, ...logins, redisPort: redis.port, folder })
    return teardown
  } catch (error) {
    await teardown()
    throw error
  }
}
