import pg from 'pg'
import { afterAll, expect, test } from 'vitest'
import { openTestDatabase } from '#test/support/postgres.ts'

/**
 * Every table, and everything that somebody but its owner may do: role, privilege, and columns where it is bound to
 * them. A new table or right is added here by decision. Backups read every table, which is left out here.
 */
const GRANTS = `
abstentions
  gateway insert grounds, reservation_id
  jobs delete
  jobs select recorded_at, reservation_id
  operator select
activations
  jobs select
  jobs update finished_at, message, state
  operator insert actor, expected_version_id, id, kind, knowledge_base_id, version_id
  operator select
active_versions
  gateway select knowledge_base_id, version_id
  jobs insert knowledge_base_id, version_id
  jobs select
  jobs update activated_at, previous_version_id, version_id
  operator select
api_keys
  gateway select client_id, digest, environment, expires_at, id, revoked_at, scopes
  operator insert client_id, digest, environment, expires_at, id, pepper, prefix, scopes
  operator select client_id, created_at, environment, expires_at, id, pepper, prefix, revoked_at, scopes
  operator update expires_at, revoked_at
append_ledger()
  jobs execute
audit
  jobs insert action, actor, detail, subject
  jobs select action, at, hash, seq, subject
  operator insert action, actor, detail, subject
  operator select
audit_head
  nobody
builds
  jobs insert id, import_id, knowledge_base_id, parameters, started_by
  jobs select
  jobs update attempt, done, embedding, error, failed_runs, lost_runs, next_attempt_at, out_of_memory_runs, stage,
    state, total, updated_at
  operator insert id, import_id, knowledge_base_id, parameters, started_by
  operator select
cancel_build()
  operator execute
captures
  jobs delete
  jobs insert files, message, outcome, source_id
  jobs select
  operator insert files, message, outcome, source_id
  operator select
clients
  gateway select active, id, name, organization_id
  operator insert id, name, organization_id
  operator select
  operator update active
corpus_versions
  gateway select embedding, facets, id, knowledge_base_id, manifest_digest, passages, profile, profile_id, state,
    withdrawals_decided
  jobs insert build_id, changes_sha256, documents, embedding, evaluation, facets, figures_sha256, id,
    knowledge_base_id, manifest_digest, passages, passed, profile, profile_id, report_sha256, withdrawals_decided
  jobs select
  jobs update state
  operator select
  operator update state
documents
  jobs insert id, key, knowledge_base_id
entitlements
  gateway select active, assistance, client_id, environment, id, jurisdictions, knowledge_base_id, languages, plan_id,
    profile_ids, subjects
  jobs select active, knowledge_base_id, profile_ids, updated_at
  operator insert assistance, client_id, environment, id, jurisdictions, knowledge_base_id, languages, plan_id, subjects
  operator select
  operator update active, assistance, jurisdictions, languages, plan_id, profile_ids, subjects, updated_at
exposure_raises
  gateway select environment, expires_at, knowledge_base_id, organization_id, passages
  operator insert environment, expires_at, id, knowledge_base_id, organization_id, passages
  operator select
exposure_releases
  gateway select environment, knowledge_base_id, organization_id, released_at
  operator insert environment, id, knowledge_base_id, organization_id
  operator select
fingerprint_keys
  gateway select epoch, organization_id, wrapped
  operator insert epoch, organization_id, wrapped
  operator select
  operator update erased_at, wrapped
imports
  jobs insert id, knowledge_base_id, mapping, report, snapshot_ids
  jobs select created_at, id, knowledge_base_id, mapping, report, snapshot_ids
  operator insert id, knowledge_base_id, mapping, report, snapshot_ids
  operator select
knowledge_bases
  gateway select id, slug
  jobs select as_of, id, slug, title, traced
  operator insert as_of, id, slug, title, traced
  operator select
  operator update traced
ledger
  operator select
ledger_outbox
  gateway select
  gateway update added_at
  jobs select
  jobs update added_at
limit_epochs
  gateway insert
  gateway select
  gateway update
  operator select epoch, organization_id
  operator update epoch
lock_reviewers()
  operator execute
organizations
  gateway select active, id
  operator insert id, name
  operator select
  operator update active
pgmigrations
  nobody
plans
  gateway select id, limits
  jobs select id, limits
  operator insert id, limits, name
  operator select
record_deliveries()
  gateway execute
refuse_restored()
  gateway execute
  operator execute
reserve_requests()
  gateway execute
reservations
  gateway select admitted_at, client_id, deadline_at, entitlement_id, environment, fingerprint_epoch, finished_at, id,
    idempotency_digest, knowledge_base_id, organization_id, outcome, plan_id, request_digest, reserved_at, served,
    state, version_id
  gateway update finished_at, outcome, replay, served, state
  jobs select admitted_at, client_id, deadline_at, entitlement_id, environment, finished_at, id, idempotency_digest,
    knowledge_base_id, organization_id, plan_id, state, version_id
  jobs update finished_at, idempotency_digest, outcome, request_digest, state
  operator select
restores
  operator insert confirmed_until_ms, id
  operator select
retry_build()
  operator execute
review_policies
  jobs select
  operator insert knowledge_base_id, seq, signatures, statement
  operator select
reviewers
  jobs select
  operator insert endorsements, id, login, name, name_key, public_key, statement
  operator select
  operator update retired_at
reviewers_head
  nobody
reviews
  jobs select created_at, id, predecessor_activation, predecessor_id, reviewer_id, signature, statement, verdict,
    version_id
  operator insert id, note, predecessor_activation, predecessor_id, reviewer, reviewer_id, signature, statement,
    verdict, version_id
  operator select
revisions
  jobs insert content_sha256, document_id, effective_at, effective_to, id, lineage, published_at, snapshot_id,
    title
  jobs select id
schema public
  backup usage
  gateway usage
  jobs usage
  migration create
  migration usage
  operator usage
schema_migrations
  gateway select
  jobs select
  operator select
shown_passages
  gateway select environment, knowledge_base_id, organization_id, passages, shown_at
  operator insert environment, id, knowledge_base_id, organization_id, passages
  operator select environment, knowledge_base_id, organization_id, passages, shown_at
source_snapshots
  jobs insert bytes, id, knowledge_base_id, media_type, sha256, source_name
  jobs select bytes, captured_at, captured_by, id, knowledge_base_id, media_type, sha256, source_name
  operator insert bytes, id, knowledge_base_id, media_type, sha256, source_name
  operator select
sources
  jobs select
  operator insert every_minutes, hosts, id, knowledge_base_id, location, mapping, name, private
  operator select
  operator update removed_at
version_chain
  jobs insert
  jobs select
  operator select
withdrawals
  gateway select chunk_id, document_id, id, knowledge_base_id, provisions, restored_at
  jobs select chunk_id, created_at, document_id, id, knowledge_base_id, label, provisions, restored_at
  operator insert chunk_id, document_id, id, knowledge_base_id, label, provisions, reason, signatures, statement
  operator select
  operator update restoration, restoration_signatures, restored_at
withdrawn_law
  jobs insert
  jobs select
  operator insert
  operator select
`

const database = await openTestDatabase()
const owner = new pg.Client({ connectionString: database.ownerUrl })
await owner.connect()
afterAll(async () => {
  await owner.end()
  await database.drop()
})

/** Grants of tables, columns, sequences, functions and the schema to anybody but their owner. */
const GRANTED = `
  with granted as (
    select c.relname::text as object, null as column, x.grantee, x.privilege_type
    from pg_class c cross join lateral aclexplode(c.relacl) x
    where c.relnamespace = 'public'::regnamespace and x.grantee <> c.relowner
    union all
    select c.relname, a.attname::text, x.grantee, x.privilege_type
    from pg_class c join pg_attribute a on a.attrelid = c.oid cross join lateral aclexplode(a.attacl) x
    where c.relnamespace = 'public'::regnamespace and x.grantee <> c.relowner
    union all
    select p.proname || '()', null, x.grantee, x.privilege_type
    from pg_proc p cross join lateral aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) x
    where p.pronamespace = 'public'::regnamespace and x.grantee <> p.proowner
    union all
    select 'schema ' || n.nspname, null, x.grantee, x.privilege_type
    from pg_namespace n cross join lateral aclexplode(n.nspacl) x
    where n.nspname = 'public' and x.grantee <> n.nspowner
  ), roles as (
    select object, coalesce(r.rolname::text, 'public') as role, lower(privilege_type) as privilege,
      string_agg(granted.column, ', ' order by granted.column) as columns
    from granted left join pg_roles r on r.oid = grantee
    group by 1, 2, 3
  )
  select object, array_agg(
    replace(role, 'evidence_', '') || ' ' || privilege || coalesce(' ' || columns, '') order by role, privilege
  ) as grants
  from roles group by 1 order by 1`

/** Tables without a grant are listed too. */
async function grantsOf(): Promise<ReadonlyMap<string, readonly string[]>> {
  const { rows: tables } = await owner.query<{ object: string }>(
    "select relname::text as object from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'",
  )
  const { rows: granted } = await owner.query<{ object: string; grants: string[] }>(GRANTED)
  return new Map([
    ...tables.map(({ object }): [string, readonly string[]] => [object, ['nobody']]),
    ...granted.map(({ object, grants }): [string, readonly string[]] => [object, grants]),
  ])
}

const BACKUP = 'backup select'

function expectedGrants(): ReadonlyMap<string, readonly string[]> {
  const objects = GRANTS.replaceAll(/\n {4}/g, ' ')
    .trim()
    .split(/\n(?! )/)
    .map((lines) => lines.split(/\n {2}/))
  const withBackup = (grants: readonly string[]) => [BACKUP, ...grants.filter((grant) => grant !== 'nobody')]
  return new Map(objects.map(([name = '', ...grants]) => [name, /[ ()]/.test(name) ? grants : withBackup(grants)]))
}

test('each role has the grants of the list and no other, and every table is in the list', async () => {
  expect(await grantsOf()).toEqual(expectedGrants())
})

test('every table, sequence and function belongs to evidence_migration', async () => {
  const { rows } = await owner.query(
    "select relname::text from pg_class where relnamespace = 'public'::regnamespace and " +
      "relowner <> 'evidence_migration'::regrole union all select proname::text from pg_proc " +
      "where pronamespace = 'public'::regnamespace and proowner <> 'evidence_migration'::regrole",
  )
  expect(rows).toEqual([])
})

test('what a later migration creates is reachable by nobody but backups until it is granted', async () => {
  const before = await grantsOf()
  const migration = new pg.Client({ connectionString: database.migrationUrl })
  await migration.connect()
  try {
    await migration.query(
      'begin; set local role evidence_migration; create table later (id serial primary key, name text); ' +
        'create view later_names as select name from later; ' +
        'create function later_function() returns int language sql as $$ select 1 $$; commit',
    )
    expect(await grantsOf()).toEqual(new Map([...before, ['later', [BACKUP]], ['later_names', [BACKUP]]]))
  } finally {
    await migration.query('drop table later cascade; drop function if exists later_function')
    await migration.end()
  }
})

test('group roles cannot log in, and no role has an attribute or a group beyond what its task needs', async () => {
  const { rows } = await owner.query<{ role: string }>(
    `select rolname::text || case when rolcanlogin then ' login' else '' end ||
       case when rolcreaterole then ' createrole' else '' end ||
       case when rolsuper or rolcreatedb or rolreplication or rolbypassrls then ' more' else '' end ||
       coalesce((select ' in ' || string_agg(distinct roleid::regrole::text, ', ') from pg_auth_members
         where member = r.oid), '') as role
     from pg_roles r where rolname ~ '^evidence_' order by 1`,
  )
  const expected = ['backup', 'gateway', 'jobs', 'migration', 'operator'].flatMap((name) => {
    const createsRoles = name === 'migration' ? 'createrole ' : ''
    return [`evidence_${name}`, `evidence_${name}_login login ${createsRoles}in evidence_${name}`]
  })
  expect(rows.map(({ role }) => role)).toEqual(expected)
})
