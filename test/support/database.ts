import { randomBytes } from 'node:crypto'
import { inject } from 'vitest'
import { createDatabaseIfAbsent, dropDatabase } from '#core/db/provision.ts'
import { TEMPLATE_DATABASE } from './setup.ts'
import type { RunServers } from './setup.ts'

export interface TestDatabase {
  /** Owns the schema: for what a test arranges or inspects beyond the services' rights. */
  readonly ownerUrl: string
  /** The rights of gateway and jobs. */
  readonly serviceUrl: string
  /** The rights of the operator's command line. */
  readonly operatorUrl: string
  /** Closes the remaining connections and removes the database. */
  drop(): Promise<void>
}

function withDatabase(url: string, name: string): string {
  const changed = new URL(url)
  changed.pathname = `/${name}`
  return changed.href
}

/**
 * A migrated, empty database of its own: call it once in a test file's `beforeAll`. A global setup passes the servers,
 * which only tests can inject.
 */
export async function openTestDatabase(servers: RunServers = inject('servers')): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`
  const maintenanceUrl = withDatabase(servers.adminUrl, 'postgres')
  await createDatabaseIfAbsent(maintenanceUrl, name, TEMPLATE_DATABASE)
  return {
    ownerUrl: withDatabase(servers.adminUrl, name),
    serviceUrl: withDatabase(servers.serviceUrl, name),
    operatorUrl: withDatabase(servers.operatorUrl, name),
    drop: () => dropDatabase(maintenanceUrl, name),
  }
}

export interface EmptyDatabase {
  readonly url: string
  drop(): Promise<void>
}

/** A database without any table. Its URL is of the role that may do everything. */
export async function openEmptyDatabase(servers: RunServers = inject('servers')): Promise<EmptyDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`
  const maintenanceUrl = withDatabase(servers.adminUrl, 'postgres')
  await createDatabaseIfAbsent(maintenanceUrl, name)
  return { url: withDatabase(servers.adminUrl, name), drop: () => dropDatabase(maintenanceUrl, name) }
}
