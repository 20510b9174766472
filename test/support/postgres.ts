import { randomBytes } from 'node:crypto'
import { afterAll, inject } from 'vitest'
import pg from 'pg'
import { inTransaction, openDatabase, type Database } from '#core/db/pool.ts'
import { createDatabaseIfAbsent } from '#core/db/provision.ts'
import { createLog } from '#core/platform/log.ts'
import { TEMPLATE_DATABASE, type RunServers } from './servers.ts'
import { CALL_TIMEOUT_MS } from './until.ts'

export type TestDatabase = Awaited<ReturnType<typeof openTestDatabase>>

function withDatabase(url: string, name: string): string {
  const changed = new URL(url)
  changed.pathname = `/${name}`
  return changed.href
}

/**
 * A migrated, empty database of its own: call it once in a test file's `beforeAll`. A global setup passes the servers,
 * which only tests can inject.
 * @param template a database to copy instead of the empty one.
 */
export async function openTestDatabase(servers: RunServers = inject('servers'), template: string = TEMPLATE_DATABASE) {
  const name = `test_${randomBytes(6).toString('hex')}`
  const maintenanceUrl = withDatabase(servers.adminUrl, 'postgres')
  await createDatabaseIfAbsent(maintenanceUrl, name, template)
  return {
    name,
    /** The superuser: for what a test arranges or inspects beyond the rights of every role. */
    ownerUrl: withDatabase(servers.adminUrl, name),
    gatewayUrl: withDatabase(servers.gatewayUrl, name),
    jobsUrl: withDatabase(servers.jobsUrl, name),
    operatorUrl: withDatabase(servers.operatorUrl, name),
    backupUrl: withDatabase(servers.backupUrl, name),
    migrationUrl: withDatabase(servers.migrationUrl, name),
    /** Closes the remaining connections and removes the database. */
    drop: () => dropDatabase(maintenanceUrl, name),
  }
}

const TEST_POOL_MAX = 8

/** Pools of each role to a database of their own. They connect on first use. */
export async function connectTestPools() {
  const database = await openTestDatabase()
  const log = createLog('test', 'silent')
  const open = (url: string): Database => openDatabase(url, log, TEST_POOL_MAX, CALL_TIMEOUT_MS)
  const pools = {
    owner: open(database.ownerUrl),
    gateway: open(database.gatewayUrl),
    jobs: open(database.jobsUrl),
    operator: open(database.operatorUrl),
  }
  return {
    database,
    ...pools,
    /** Closes the pools and removes the database. */
    async close() {
      await Promise.all(Object.values(pools).map((pool) => pool.end()))
      await database.drop()
    },
  }
}

/** The same, closed after the tests of the calling file. */
export async function openTestPools() {
  const { close, ...pools } = await connectTestPools()
  afterAll(close)
  return pools
}

/** Runs `work` while no other process of the run works under the same number. */
export async function exclusively<T>(servers: RunServers, lock: number, work: () => Promise<T>): Promise<T> {
  return withClient(withDatabase(servers.adminUrl, 'postgres'), async (client) => {
    await client.query('select pg_advisory_lock($1)', [lock])
    return await work()
  })
}

async function dropDatabase(adminUrl: string, name: string): Promise<void> {
  await withClient(adminUrl, (client) => client.query(`drop database if exists ${name} with (force)`))
}

/** Connects for `work` alone. */
export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await using ending = new AsyncDisposableStack()
  ending.defer(() => client.end())
  return await work(client)
}

/** Runs a statement without triggers and foreign keys, for a state that the guards of the schema refuse. */
export async function withoutGuards(owner: Database, statement: string, values: readonly unknown[]): Promise<void> {
  await inTransaction(owner, async (client) => {
    await client.query('set local session_replication_role = replica')
    await client.query(statement, [...values])
  })
}

export type EmptyDatabase = Awaited<ReturnType<typeof openEmptyDatabase>>

/** A database without any table. Its URL is of the role that may do everything. */
export async function openEmptyDatabase(servers: RunServers = inject('servers')) {
  const name = `test_${randomBytes(6).toString('hex')}`
  const maintenanceUrl = withDatabase(servers.adminUrl, 'postgres')
  await createDatabaseIfAbsent(maintenanceUrl, name)
  return { url: withDatabase(servers.adminUrl, name), drop: () => dropDatabase(maintenanceUrl, name) }
}
