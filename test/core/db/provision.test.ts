import { afterAll, expect, test } from 'vitest'
import { openDatabase } from '#core/db/pool.ts'
import { provisionLogins } from '#core/db/provision.ts'
import { SHIPPED_MIGRATIONS, assertSchemaCompatible, migrate } from '#core/db/schema.ts'
import { createLog } from '#core/platform/log.ts'
import { startPostgres } from '#operator/demo/local/postgres.ts'
import { CALL_TIMEOUT_MS } from '#test/support/until.ts'
import { folderOfFile } from '#test/support/folder.ts'
import { withClient } from '#test/support/postgres.ts'

/** A cluster of its own: logins belong to the whole cluster. */
const folder = folderOfFile()
const postgres = await startPostgres({ folder })
afterAll(async () => {
  await postgres.stop()
})

async function query(url: string, sql: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  return withClient(url, async (client) => (await client.query<Record<string, unknown>>(sql)).rows)
}

async function rolesNow(): Promise<unknown> {
  const [row] = await query(
    postgres.adminUrl('postgres'),
    "select array_agg(rolname::text order by rolname) as roles from pg_roles where rolname ~ '^evidence_'",
  )
  return row?.['roles']
}

const ROLES = ['backup', 'gateway', 'jobs', 'migration', 'operator'].flatMap((name) => [
  `evidence_${name}`,
  `evidence_${name}_login`,
])

test('a database is provisioned and migrated, and its logins find the schema compatible', async () => {
  await postgres.createDatabase('first')
  const logins = await provisionLogins(postgres.adminUrl('first'))
  expect(await migrate(logins.migrationUrl)).toHaveLength(SHIPPED_MIGRATIONS.length)
  expect(await rolesNow()).toEqual(ROLES)
  for (const url of [logins.gatewayUrl, logins.jobsUrl, logins.operatorUrl, logins.backupUrl]) {
    const database = openDatabase(url, createLog('test', 'silent'), 1, CALL_TIMEOUT_MS)
    await expect(assertSchemaCompatible(database)).resolves.toBeUndefined()
    await database.end()
  }
})

test('databases of one cluster that are migrated at the same time do not disturb each other', async () => {
  const names = Array.from({ length: 6 }, (_, index) => `together_${index}`)
  for (const name of names) await postgres.createDatabase(name)
  const runs = await Promise.all(names.map((name) => migrate(postgres.adminUrl(name))))
  expect(runs.map((applied) => applied.length)).toEqual(names.map(() => SHIPPED_MIGRATIONS.length))
  expect(await rolesNow()).toEqual(ROLES)
})

test('a database that is provisioned again has new passwords and keeps its content', async () => {
  const before = await provisionLogins(postgres.adminUrl('first'))
  const after = await provisionLogins(postgres.adminUrl('first'))
  await expect(query(before.operatorUrl, 'select 1')).rejects.toThrow(/password authentication failed/)
  expect(await query(after.operatorUrl, 'select max(number) as newest from schema_migrations')).toEqual([
    { newest: SHIPPED_MIGRATIONS.at(-1)?.number },
  ])
})
