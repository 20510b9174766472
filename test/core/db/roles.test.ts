import pg from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { openTestDatabase } from '#test/support/postgres.ts'

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

/** What a role tries, and a statement that does it. */
const DENIED: Readonly<Record<'gateway' | 'jobs' | 'operator', readonly (readonly [string, string])[]>> = {
  gateway: [
    ['move the active version', 'update active_versions set version_id = gen_random_uuid()'],
    ['make a version active', 'insert into active_versions values (gen_random_uuid(), gen_random_uuid())'],
    ['set the state of a version', "update corpus_versions set state = 'active'"],
    ['write to the ledger', "insert into ledger (reservation_id, state) values (gen_random_uuid(), 'refunded')"],
    ['read the ledger', 'select reservation_id from ledger'],
    ['write to the audit trail', "insert into audit (actor, action, subject) values ('x', 'x', 'x')"],
    ['read the audit trail', 'select actor from audit'],
    ['ask for or finish an activation', "update activations set state = 'done'"],
    ['read builds', 'select id from builds'],
    ['read imports', 'select mapping from imports'],
    ['read evaluations', 'select evaluation from corpus_versions'],
    ['read the names of organizations', 'select name from organizations'],
    ['read the pepper of a key', 'select pepper from api_keys'],
    ['extend a key', 'update api_keys set expires_at = now()'],
    ['change a plan', "update plans set limits = '{}'"],
    ['change an entitlement', 'update entitlements set active = true'],
    ['change what a reservation was admitted for', 'update reservations set plan_id = gen_random_uuid()'],
    ['read a fingerprint', 'select fingerprint from reservations'],
    ['remove a reservation', 'delete from reservations'],
    ['forget an epoch', 'delete from limit_epochs'],
    ['create a table', 'create table mine (id int)'],
  ],
  jobs: [
    ['read the digest of a key', 'select digest from api_keys'],
    ['read keys', 'select id from api_keys'],
    ['read fingerprint keys', 'select wrapped from fingerprint_keys'],
    ['read clients', 'select id from clients'],
    ['read organizations', 'select id from organizations'],
    ['change a plan', "update plans set limits = '{}'"],
    ['change an entitlement', 'update entitlements set active = true'],
    ['approve a version', "insert into reviews (id, verdict) values (gen_random_uuid(), 'approved')"],
    ['ask for an activation', 'insert into activations (id) values (gen_random_uuid())'],
    [
      'begin a version in another state',
      "insert into corpus_versions (id, state) values (gen_random_uuid(), 'active')",
    ],
    ['change the evaluation of a version', "update corpus_versions set evaluation = '{}'"],
    ['change a profile', "update corpus_versions set profile = '{}'"],
    ['reserve', 'insert into reservations (id) values (gen_random_uuid())'],
    ['change a ledger entry', 'update ledger set charged = false'],
    ['remove a ledger entry', 'delete from ledger'],
    ['read the audit trail', 'select actor from audit'],
    ['date an audit row', "insert into audit (at, actor, action, subject) values (now(), 'x', 'x', 'x')"],
    ['remove a version from service', 'delete from active_versions'],
    ['create a table', 'create table mine (id int)'],
  ],
  operator: [
    ['settle a reservation', "update reservations set state = 'failed'"],
    ['reserve', 'insert into reservations (id) values (gen_random_uuid())'],
    ['write to the ledger', 'insert into ledger (reservation_id) values (gen_random_uuid())'],
    ['change a ledger entry', 'update ledger set charged = false'],
    ['remove a ledger entry', 'delete from ledger'],
    ['change an audit row', "update audit set actor = 'somebody else'"],
    ['remove an audit row', 'delete from audit'],
    ['move the active version', 'update active_versions set version_id = gen_random_uuid()'],
    ['make a version', 'insert into corpus_versions (id) values (gen_random_uuid())'],
    ['finish an activation', "update activations set state = 'done'"],
    ['change a review', "update reviews set verdict = 'approved'"],
    ['change a plan', "update plans set limits = '{}'"],
    ['read the digest of a key', 'select digest from api_keys'],
    ['change the digest of a key', "update api_keys set digest = ''"],
    ['change a reservation', "update reservations set state = 'refunded'"],
    ['create a table', 'create table mine (id int)'],
  ],
}

describe.each(['gateway', 'jobs', 'operator'] as const)('the role of the %s', (role) => {
  test.each(DENIED[role])('cannot %s', async (_, statement) => {
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
