import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { isDeepStrictEqual } from 'node:util'
import pg from 'pg'
import { from, to } from 'pg-copy-streams'
import { z } from 'zod'
import { OperatorError } from '#core/platform/errors.ts'
import { withOwnClient } from './provision.ts'
import { oneRowOf, rowsOf } from './rows.ts'

/**
 * All rows of the database as text that COPY writes and reads. The schema comes from migrations, so a copy needs no tool
 * of the server's version. A base backup would hold a whole cluster of one version, and need the right of replication.
 */

export const tableSchema = z.object({ name: z.string(), columns: z.array(z.string()) })
type Table = z.infer<typeof tableSchema>

/** Tables with the columns that are not computed, each table after those that it refers to. */
const readTables = rowsOf(tableSchema)`
with recursive reached as (
  select oid, relname::text as name, 0 as depth from pg_class where relnamespace = 'public'::regnamespace
    and relkind = 'r' and relname not in ('schema_migrations', 'pgmigrations')
  union
  select c.conrelid, t.relname, r.depth + 1 from reached r join pg_constraint c on c.confrelid = r.oid
    join pg_class t on t.oid = c.conrelid where c.contype = 'f' and c.conrelid <> c.confrelid and r.depth < 100)
select name, array(select attname::text from pg_attribute
  where attrelid = r.oid and attnum > 0 and not attisdropped and attgenerated = '' order by attnum) as columns
from reached r group by oid, name order by max(depth), name`

const list = (names: readonly string[]): string => names.map((name) => pg.escapeIdentifier(name)).join(', ')

/** What must stay ended where an earlier state is restored: keys of callers, and of fingerprints. */
const ENDED = `jsonb_build_object(
  'revoked', (select coalesce(jsonb_agg(jsonb_build_object('id', id, 'at', revoked_at)), '[]') from api_keys
    where revoked_at is not null and expires_at > now()),
  'erased', (select coalesce(jsonb_agg(jsonb_build_object('organization_id', organization_id, 'epoch', epoch,
    'at', erased_at)), '[]') from fingerprint_keys where erased_at is not null))`

const endedAgainSchema = z.object({
  keys_revoked_again: z.int(),
  epochs_erased_again: z.int(),
  /** Organizations whose newest epoch this erased. */
  without_epoch: z.array(z.uuid()),
})

const endAgain = oneRowOf(endedAgainSchema)<[ended: Snapshot['ended']]>`
with revoked as (
  update api_keys as k set revoked_at = e.at from jsonb_to_recordset($1::jsonb -> 'revoked') as e (id uuid, at timestamptz)
  where k.id = e.id and k.revoked_at is null returning k.id),
erased as (
  update fingerprint_keys as f set wrapped = null, erased_at = e.at
  from jsonb_to_recordset($1::jsonb -> 'erased') as e (organization_id uuid, epoch integer, at timestamptz)
  where f.organization_id = e.organization_id and f.epoch = e.epoch and f.erased_at is null returning f.organization_id, f.epoch)
select (select count(*)::int from revoked) as keys_revoked_again, (select count(*)::int from erased) as epochs_erased_again,
  array(select organization_id from erased as e
    where epoch = (select max(epoch) from fingerprint_keys where organization_id = e.organization_id)) as without_epoch`

/** What two databases of the same content agree on; `active` is the SHA-256 of the manifest by version. */
const STATE = `jsonb_build_object(
  'active', (select coalesce(jsonb_object_agg(v.id, encode(v.manifest_digest, 'hex')), '{}')
    from active_versions a join corpus_versions v on v.id = a.version_id),
  'chains', (select coalesce(jsonb_object_agg(c.id, c.head), '{}') from (
    select distinct on (knowledge_base_id) knowledge_base_id as id,
      sequence || ' ' || encode(sha256(convert_to(entry, 'UTF8')), 'hex') as head
    from version_chain order by knowledge_base_id, sequence desc) c),
  'audit', (select seq || ' ' || encode(hash, 'hex') from audit order by seq desc limit 1),
  'newest_reservation', (select id from reservations order by admitted_at desc, id limit 1))`
const stateSchema = z.looseObject({ active: z.record(z.string(), z.hex()) })

const SNAPSHOT = `
select to_char(statement_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as taken_at, (
  select jsonb_build_object('number', number, 'name', name, 'sha256', encode(sha256, 'hex'))
  from schema_migrations order by number desc limit 1) as migration, ${ENDED} as ended, ${STATE} as state`
export const snapshotSchema = z.object({
  taken_at: z.iso.datetime(),
  /** The newest one. */
  migration: z.object({ number: z.int(), name: z.string(), sha256: z.hex() }),
  ended: z.record(z.string(), z.unknown()),
  state: stateSchema,
})
export type Snapshot = z.infer<typeof snapshotSchema>

/** One backup or restore of a database runs at a time. */
export function withCopyConnection<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  return withOwnClient(url, async (client) => {
    const { rowCount } = await client.query('select where pg_try_advisory_lock(7142918222)')
    if (rowCount !== 1) throw new OperatorError('Another backup or restore runs: wait until it ends.')
    return work(client)
  })
}

/** Reads every table as it was at one moment: `copy` takes the rows of each. */
export async function copyTables<T>(client: pg.Client, copy: (rows: Readable) => Promise<T>) {
  await client.query('begin isolation level repeatable read read only')
  const snapshot = snapshotSchema.parse((await client.query(SNAPSHOT)).rows[0])
  const tables: (Table & T & { readonly rows: number })[] = []
  for (const table of await readTables(client)) {
    const rows = client.query(to(`copy ${list([table.name])} (${list(table.columns)}) to stdout`))
    const copied = await copy(rows)
    tables.push({ ...table, ...copied, rows: rows.rowCount })
  }
  await client.query('commit')
  return { ...snapshot, tables }
}

/** @throws OperatorError where the schema has anything. */
export async function assertNoTables(client: pg.Client): Promise<void> {
  const { rowCount } = await client.query("select from pg_class where relnamespace = 'public'::regnamespace limit 1")
  if (rowCount !== 0) throw new OperatorError('The database has tables: restore into a new one.')
}

/** Rows have the numbers that they had; the next one comes after them. `test/scenarios/backup.test.ts` finds others. */
const MOVE_SEQUENCES = `
select setval(pg_get_serial_sequence('captures', 'id'), (select coalesce(max(id), 0) + 1 from captures), false);`

/**
 * Fills the tables of a new schema in one transaction, and ends again what had ended. The guards would refuse rows in
 * the state that they had reached, so they are off meanwhile; references and checks hold.
 * @param finish ends the transaction's work, with the audit entry last.
 * @throws OperatorError where the rows are not those of the snapshot.
 */
export async function fillTables<T extends Table & { readonly rows: number }, R>(
  client: pg.Client,
  { tables, state }: { readonly tables: readonly T[]; readonly state: Snapshot['state'] },
  readRows: (table: T) => AsyncIterable<Uint8Array>,
  ended: Snapshot['ended'],
  finish: (again: z.infer<typeof endedAgainSchema>) => Promise<R>,
): Promise<R> {
  const names = tables.map(({ name }) => name)
  const triggers = (turn: 'enable' | 'disable'): string =>
    names.map((name) => `alter table ${list([name])} ${turn} trigger user;`).join('\n')
  await client.query(`begin; ${triggers('disable')} truncate ${list(names)}`)
  for (const table of tables) {
    const rows = client.query(from(`copy ${list([table.name])} (${list(table.columns)}) from stdin`))
    await pipeline(readRows(table), rows)
    if (rows.rowCount !== table.rows)
      throw new OperatorError(`${table.name} got ${rows.rowCount} rows of ${table.rows}.`)
  }
  await client.query(`${MOVE_SEQUENCES} ${triggers('enable')}`)
  if (!isDeepStrictEqual(await readState(client), state))
    throw new OperatorError('The rows are not those of the backup.')
  const finished = await finish(await endAgain(client, ended))
  await client.query('commit')
  await client.query(`analyze ${list(names)}`)
  return finished
}

export async function readState(client: pg.Client): Promise<Snapshot['state']> {
  return snapshotSchema.pick({ state: true }).parse((await client.query(`select ${STATE} as state`)).rows[0]).state
}
