import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { migrate } from '#core/db/migrate.ts'
import { newestMigration, shippedMigrations } from '#core/db/migration-files.ts'
import { openDatabase } from '#core/db/pool.ts'
import { provisionLogins } from '#core/db/provision.ts'
import { assertSchemaCompatible } from '#core/db/schema.ts'
import { createLog } from '#core/platform/log.ts'
import { startPostgres } from '#jobs/cli/local/postgres.ts'
import type { LocalPostgres } from '#jobs/cli/local/postgres.ts'
import { migrateAsRelease010 } from '#test/support/database.ts'

/** A cluster of its own: logins belong to the whole cluster. */
let postgres: LocalPostgres
let folder: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'evidence-provision-'))
  postgres = await startPostgres({ folder })
})
afterAll(async () => {
  await postgres.stop()
  rmSync(folder, { recursive: true, force: true })
})

async function query(url: string, sql: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows
  } finally {
    await client.end()
  }
}

async function rolesNow(): Promise<unknown> {
  const [row] = await query(
    postgres.adminUrl('postgres'),
    "select array_agg(rolname::text order by rolname) as roles from pg_roles where rolname ~ '^evidence_'",
  )
  return row?.['roles']
}

const ROLES = ['gateway', 'jobs', 'migration', 'operator'].flatMap((name) => [
  `evidence_${name}`,
  `evidence_${name}_login`,
])

test('databases of release 0.1.0 are taken over; its roles go with the last of them', async () => {
  for (const name of ['first', 'second']) {
    await postgres.createDatabase(name)
    await migrateAsRelease010(postgres.adminUrl(name))
  }
  await query(
    postgres.adminUrl('first'),
    'create role evidence_app login in role evidence_service; create role evidence_admin login in role ' +
      "evidence_operator; insert into organizations (id, name) values (gen_random_uuid(), 'Bank')",
  )
  const first = await provisionLogins(postgres.adminUrl('first'))
  expect((await migrate(first.migrationUrl)).applied).toHaveLength(shippedMigrations().length - 2)
  expect(await rolesNow()).toEqual([...ROLES, 'evidence_service'].toSorted())

  await migrate(postgres.adminUrl('second'))
  expect(await rolesNow()).toEqual(ROLES)
  expect(await query(first.operatorUrl, 'select name from organizations')).toEqual([{ name: 'Bank' }])
  for (const url of [first.gatewayUrl, first.jobsUrl, first.operatorUrl]) {
    const database = openDatabase(url, createLog('test', 'silent'), 1)
    await expect(assertSchemaCompatible(database)).resolves.toBeUndefined()
    await database.end()
  }
})

test('databases of one cluster that are migrated at the same time do not disturb each other', async () => {
  const names = Array.from({ length: 6 }, (_, index) => `together_${index}`)
  for (const name of names) await postgres.createDatabase(name)
  const runs = await Promise.all(names.map((name) => migrate(postgres.adminUrl(name))))
  expect(runs.map(({ applied }) => applied.length)).toEqual(names.map(() => shippedMigrations().length))
  expect(await rolesNow()).toEqual(ROLES)
})

test('a database that is provisioned again has new passwords and keeps its content', async () => {
  const before = await provisionLogins(postgres.adminUrl('first'))
  const after = await provisionLogins(postgres.adminUrl('first'))
  await expect(query(before.operatorUrl, 'select 1')).rejects.toThrow(/password authentication failed/)
  expect(await query(after.operatorUrl, 'select max(number) as newest from schema_migrations')).toEqual([
    { newest: newestMigration() },
  ])
})
