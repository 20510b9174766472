import { randomUUID } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { Registry } from 'prom-client'
import { z } from 'zod'
import { sha256 } from '#core/platform/digest.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { serveInternal, type InternalServer } from '#core/platform/internal-server.ts'
import type { Log } from '#core/platform/log.ts'
import { RELEASE } from '#core/platform/release.ts'
import { DATABASE_BOUNDS } from './bounds.ts'
import { withinLockTimeout } from './lock-timeout.ts'
import { inTransaction, withClient, type Database, type Queryable } from './pool.ts'
import { withOwnClient } from './provision.ts'

/** Of equal length, so that texts are in the order of the releases. */
const padded = (release: string): string => release.replaceAll(/\d+/g, (part) => part.padStart(6, '0'))

/** A migration as the database records it. The oldest release still runs on the schema after it. */
const migrationSchema = z.object({ number: z.int(), name: z.string(), sha256: z.hex(), oldest_release: z.string() })
type MigrationFile = z.infer<typeof migrationSchema> & { readonly sql: string }

/** Reads a folder of migrations in order. @throws OperatorError where a file is not like the others. */
export function readMigrations(folder: string): readonly MigrationFile[] {
  return readdirSync(folder)
    .toSorted()
    .map((name, at, names) => {
      const sql = readFileSync(join(folder, name), 'utf8')
      const [, number = ''] = /^(\d{4})-[a-z0-9]+(?:-[a-z0-9]+)*\.sql$/.exec(name) ?? []
      const [, oldest_release = ''] = /^-- Oldest release: (\d+\.\d+\.\d+)\n/.exec(sql) ?? []
      if (number === '' || oldest_release === '' || names[at - 1]?.startsWith(number) === true)
        throw new OperatorError(
          `Migration ${name} needs a name like 0001-x.sql, a number of its own and a head "-- Oldest release: X.Y.Z".`,
        )
      return { number: Number(number), name, sha256: sha256(sql).toString('hex'), oldest_release, sql }
    })
}

export const MIGRATIONS = join(import.meta.dirname, 'migrations')
export const SHIPPED_MIGRATIONS = readMigrations(MIGRATIONS)

const RECORDS = `select number, name, encode(sha256, 'hex') as sha256, oldest_release from schema_migrations order by 1`
const UNDEFINED_TABLE = '42P01'

/** @throws OperatorError where a migration that this release lacks ends its support. */
async function compare(database: Queryable, files: readonly MigrationFile[]) {
  const { rows } = await database.query(RECORDS).catch((error: unknown) => {
    if (error instanceof pg.DatabaseError && error.code === UNDEFINED_TABLE) return { rows: [] }
    throw error
  })
  const recorded = z.array(migrationSchema).parse(rows)
  for (const { number, oldest_release: oldest } of recorded)
    if (number > (files.at(-1)?.number ?? 0) && padded(oldest) > padded(RELEASE))
      throw new OperatorError(
        `The database is at migration ${number}, which release ${RELEASE} does not run on: ` +
          `deploy release ${oldest} or a newer one.`,
      )
  return { recorded, missing: files.filter(({ name }) => !recorded.some((migration) => migration.name === name)) }
}

/** @throws OperatorError where the schema lacks a migration, or has one that ends the support of this release. */
export async function assertSchemaCompatible(database: Queryable): Promise<void> {
  const [missing] = (await compare(database, SHIPPED_MIGRATIONS)).missing
  if (missing !== undefined)
    throw new OperatorError(
      `The database lacks migration ${missing.name}, which this release needs: ` +
        'run "npm run operator -- migrate" first.',
    )
}

/** What the start of a service checks. @throws OperatorError */
export async function assertUsable(database: Database): Promise<void> {
  try {
    await assertSessionsKept(database)
  } catch (error) {
    if (!(error instanceof Error) || !error.message.includes('unsupported startup parameter')) throw error
    throw new OperatorError(POOLED, { cause: error })
  }
  await assertSchemaCompatible(database)
}

/** Anything but a refusal for good: no reply, a start or stop of the server, no connection or memory left. */
function isAway(error: unknown): boolean {
  return error instanceof pg.DatabaseError ? /^(?:08|53|57)/.test(error.code ?? '') : !(error instanceof OperatorError)
}

/** The same, once Postgres answers: until then the process is alive and not ready, and pauses longer and longer. */
export async function untilUsable(database: Database, internalListen: string, log: Log): Promise<void> {
  const ready = () => ({ faults: ['postgres was not reached since the start'] })
  let internal: InternalServer | undefined
  try {
    for (let pauseMs: number = DATABASE_BOUNDS.awaitedPauseFirstMs; ; pauseMs *= 2)
      try {
        return await assertUsable(database)
      } catch (error) {
        if (!isAway(error)) throw error
        log.warn('postgres is awaited', {}, error)
        internal ??= await serveInternal(internalListen, { registry: new Registry(), ready }, log)
        await sleep(Math.min(pauseMs, DATABASE_BOUNDS.awaitedPauseMaxMs))
      }
  } finally {
    await internal?.close()
  }
}

const POOLED =
  'DATABASE_URL leads to a pooler in transaction mode, which keeps no session: LISTEN, session settings and their ' +
  'time-outs would be lost. Name Postgres itself, or a pooler in session mode.'
const MARK = "select set_config('evidence.session', $1, false)"
const MARKED = "select current_setting('evidence.session', true) is not distinct from $1 as same"
const markedSchema = z.tuple([z.object({ same: z.boolean() })])

/** A mark of one session is seen in that session alone. A pooler gives the next transaction the session used last. */
async function assertSessionsKept(database: Database): Promise<void> {
  const mark = randomUUID()
  const sees = async (client: Queryable): Promise<boolean> =>
    markedSchema.parse((await client.query(MARKED, [mark])).rows)[0].same
  await withClient(database, async (one) => {
    await one.query(MARK, [mark])
    const elsewhere = await inTransaction(database, async (other) => (await sees(other)) || !(await sees(one)))
    if (elsewhere) throw new OperatorError(POOLED)
  })
}

const LOCK_TIMEOUT = "select set_config('lock_timeout', $1 || 'ms', false)"
const LOCK = 'select pg_advisory_lock(7142918221)'
/** The first migration hands both tables over. An earlier release kept names in the second, which nothing reads now. */
const CREATE_RECORD = `
  create table if not exists schema_migrations (number integer primary key, name text not null, sha256 bytea not null
    check (octet_length(sha256) = 32), oldest_release text not null, applied_at timestamptz not null default now());
  create table if not exists pgmigrations ()`
/** What a migration creates belongs to the owner of the record. */
const BEGIN = `begin; select set_config('role', tableowner, true) from pg_tables
  where schemaname = current_schema and tablename = 'schema_migrations';\n`
const RECORD = `
  insert into schema_migrations (number, name, sha256, oldest_release) values ($1, $2, decode($3, 'hex'), $4)`

/**
 * Applies the missing migrations until a number, in order, each in one transaction, and returns their names. Processes
 * take turns.
 * @param url of a role that has `evidence_migration`, or of a superuser.
 * @throws OperatorError also where an applied file was changed, or a lock is not granted in time.
 */
export async function migrate(
  url: string,
  folder = MIGRATIONS,
  processLockTimeoutMs: number = DATABASE_BOUNDS.migrationProcessLockTimeoutMs,
  until = Number.MAX_SAFE_INTEGER,
): Promise<readonly string[]> {
  const files = readMigrations(folder).filter(({ number }) => number <= until)
  // The end of the session rolls an unfinished migration back.
  return withOwnClient(url, async (client) => {
    await client.query(LOCK_TIMEOUT, [processLockTimeoutMs])
    await withinLockTimeout('The schema, which another process migrates,', client.query(LOCK))
    await client.query(LOCK_TIMEOUT, [DATABASE_BOUNDS.migrationTableLockTimeoutMs])
    const { recorded, missing } = await compare(client, files)
    for (const [at, { name, sha256: hash }] of recorded.slice(0, files.length).entries())
      if (files[at]?.name !== name || files[at].sha256 !== hash)
        throw new OperatorError(
          `Migration ${name} was applied, and now is missing, changed or after a new one: restore it as it was.`,
        )
    if (missing.length > 0) await client.query(CREATE_RECORD)
    for (const { number, name, sha256: hash, oldest_release: oldest, sql } of missing) {
      await withinLockTimeout('A table that the migration changes', client.query(BEGIN + sql))
      await client.query(RECORD, [number, name, hash, oldest])
      await client.query('commit')
    }
    return missing.map(({ name }) => name)
  })
}
