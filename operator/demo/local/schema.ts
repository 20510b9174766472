import { migrate } from '#core/db/schema.ts'
import { provisionLogins, type LoginUrls } from '#core/db/provision.ts'
import type { LocalPostgres } from './postgres.ts'

/** Creates a database if it is absent, its logins with new passwords, and the schema. */
export async function createSchema(postgres: LocalPostgres, database: string): Promise<LoginUrls> {
  await postgres.createDatabase(database)
  const logins = await provisionLogins(postgres.adminUrl(database))
  await migrate(logins.migrationUrl)
  return logins
}
