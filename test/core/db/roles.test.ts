import pg from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { openTestDatabase } from '#test/support/postgres.ts'
// What a role tries, and a statement that does it.
import DENIED from './denied.json' with { type: 'json' }

const database = await openTestDatabase()
const clients = {
  gateway: new pg.Client({ connectionString: database.gatewayUrl }),
  jobs: new pg.Client({ connectionString: database.jobsUrl }),
  operator: new pg.Client({ connectionString: database.operatorUrl }),
  migration: new pg.Client({ connectionString: database.migrationUrl }),
}
for (const client of Object.values(clients)) await client.connect()
afterAll(async () => {
  for (const client of Object.values(clients)) await client.end()
  await database.drop()
})

describe.each(['gateway', 'jobs', 'operator'] as const)('the role of the %s', (role) => {
  test.each(Object.entries(DENIED[role]))('cannot %s', async (_, statement) => {
    await expect(clients[role].query(statement)).rejects.toThrow(/^permission denied for /)
  })

  test.each(['ledger', 'audit'])('cannot update, delete or truncate in %s, or drop it', async (table) => {
    for (const statement of [
      `update ${table} set ${table === 'audit' ? 'actor' : 'state'} = ''`,
      `delete from ${table}`,
      `truncate ${table}`,
    ])
      await expect(clients[role].query(statement)).rejects.toThrow(/^permission denied for /)
    await expect(clients[role].query(`drop table ${table}`)).rejects.toThrow(/^must be owner of /)
  })

  test('cannot take the rights of another role', async () => {
    for (const other of ['gateway', 'jobs', 'operator', 'migration'].filter((name) => name !== role))
      await expect(clients[role].query(`set role evidence_${other}`)).rejects.toThrow(/^permission denied to set role/)
  })
})

test('the role that migrates owns the schema, is no superuser, and cannot become one', async () => {
  await clients.migration.query('begin; delete from ledger_outbox; rollback')
  await clients.migration.query('begin; alter table audit add column note text; rollback')
  await expect(clients.migration.query('create role other superuser')).rejects.toThrow(/^permission denied/)
  await expect(clients.migration.query('alter role evidence_migration_login superuser')).rejects.toThrow(
    /^permission denied/,
  )
})
