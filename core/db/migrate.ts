import { join } from 'node:path'
import { runner } from 'node-pg-migrate'
import type { RunnerOption } from 'node-pg-migrate'
import pg from 'pg'
import { OperatorError } from '#core/platform/errors.ts'
import { DATABASE_BOUNDS } from './bounds.ts'
import { RELEASE } from './release.ts'
import { MIGRATIONS, readMigrations } from './migration-files.ts'
import type { MigrationFile } from './migration-files.ts'
import { assertReleaseSupported, recordedMigrations } from './schema.ts'
import type { RecordedMigration } from './schema.ts'

/** Two releases never migrate one database at once. */
const LOCK = 'select pg_advisory_lock(7142918221)'
/** SQLSTATE of a lock that was not granted within `lock_timeout`. */
const LOCK_NOT_AVAILABLE = '55P03'

/** Names in order, which node-pg-migrate reads and writes. `schema_migrations` is the record that the services read. */
const TOOL_TABLE = 'pgmigrations'

const CREATE_RECORD = `
  create table if not exists schema_migrations (
    number integer primary key,
    name text not null,
    sha256 bytea not null check (octet_length(sha256) = 32),
    oldest_release text not null,
    applied_at timestamptz not null default now()
  )`

/** A migration runs as the owner of the record, if there is one, so that what it creates has the same owner. */
const AS_OWNER = `
  select set_config('role', tableowner, true) from pg_tables
  where schemaname = current_schema and tablename = 'schema_migrations'`

export interface MigrateOptions {
  readonly folder?: string
  /** Wait for a migration that another process runs. */
  readonly processLockTimeoutMs?: number
  /** Wait for a lock on a table that a migration changes. */
  readonly tableLockTimeoutMs?: number
}

/**
 * Applies the missing migrations in order, each in one transaction. A lock allows several processes to start at once.
 * @param url of a role that has `evidence_migration`, or of a superuser.
 * @throws OperatorError when the record contradicts the files, this release does not run on the schema, or a lock is
 *   not granted in time.
 */
export async function migrate(
  url: string,
  options: MigrateOptions = {},
): Promise<{ readonly applied: readonly string[] }> {
  const folder = options.folder ?? MIGRATIONS
  const files = readMigrations(folder)
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: DATABASE_BOUNDS.provisionConnectTimeoutMs,
  })
  // The statement that runs rejects; an error event without a listener would end the process.
  client.on('error', () => undefined)
  await client.connect()
  try {
    await lockOrRefuse(client, options.processLockTimeoutMs ?? DATABASE_BOUNDS.migrationProcessLockTimeoutMs)
    await setLockTimeout(client, options.tableLockTimeoutMs ?? DATABASE_BOUNDS.migrationTableLockTimeoutMs)
    return await applyMissing(client, folder, files).catch((error: unknown) => {
      throw hasState(error, LOCK_NOT_AVAILABLE) ? tableInUse() : error
    })
  } finally {
    await client.end()
  }
}

async function lockOrRefuse(client: pg.Client, timeoutMs: number): Promise<void> {
  await setLockTimeout(client, timeoutMs)
  await client.query(LOCK).catch((error: unknown) => {
    throw hasState(error, LOCK_NOT_AVAILABLE) ? alreadyRunning() : error
  })
}

async function setLockTimeout(client: pg.Client, timeoutMs: number): Promise<void> {
  await client.query("select set_config('lock_timeout', $1, false)", [`${timeoutMs}ms`])
}

async function applyMissing(
  client: pg.Client,
  folder: string,
  files: readonly MigrationFile[],
): Promise<{ readonly applied: readonly string[] }> {
  const before = await recordedMigrations(client)
  assertFilesMatch(before, files)
  const missing = files.filter(({ name }) => !before.some((recorded) => recorded.name === name))
  if (missing.length > 0) {
    await client.query(CREATE_RECORD)
    await runner(toolOptions(client, folder, files))
  }
  return { applied: missing.map(({ name }) => name) }
}

/** @throws OperatorError when a file cannot be the one that was applied, or cannot be applied any more. */
function assertFilesMatch(recorded: readonly RecordedMigration[], files: readonly MigrationFile[]): void {
  const newest = files.at(-1)?.number ?? 0
  assertReleaseSupported(recorded, newest, RELEASE)
  for (const { number, name, sha256 } of recorded.filter((migration) => migration.number <= newest)) {
    const file = files.find((candidate) => candidate.name === name)
    if (file === undefined)
      throw new OperatorError(`Migration ${number} was applied as ${name}, which is missing: restore that file.`)
    if (sha256 !== file.sha256.toString('hex'))
      throw new OperatorError(`${name} was changed after it was applied: restore it, and add a new migration instead.`)
  }
  const last = recorded.at(-1)
  const skipped = files.find(
    ({ number, name }) => number < (last?.number ?? 0) && !recorded.some((m) => m.name === name),
  )
  if (skipped !== undefined)
    throw new OperatorError(
      `${skipped.name} comes before ${last?.name ?? ''}, which was applied: give it a later number.`,
    )
}

function toolOptions(client: pg.Client, folder: string, files: readonly MigrationFile[]): RunnerOption {
  const silent = (): undefined => undefined
  return {
    dbClient: client,
    dir: folder,
    migrationsTable: TOOL_TABLE,
    direction: 'up',
    singleTransaction: false,
    // The caller holds a lock, which also covers the record.
    noLock: true,
    logger: { info: silent, warn: silent, error: silent },
    migrationLoaderStrategies: [{ extensions: ['.sql'], loader: () => Promise.resolve(files.map(unitOf(folder))) }],
  }
}

/** A migration with its entry in the record, which the tool runs in one transaction. */
const unitOf = (folder: string) => (file: MigrationFile) => ({
  id: join(folder, file.name),
  filePaths: [join(folder, file.name)],
  actions: {
    up: (pgm: { sql(statement: string): void }): void => {
      for (const statement of [AS_OWNER, file.sql, recordSql(file)]) pgm.sql(statement)
    },
    down: false as const,
  },
})

/** The tool takes no parameters for a statement. */
function recordSql({ number, name, sha256, oldestRelease }: MigrationFile): string {
  const values = [pg.escapeLiteral(name), `'\\x${sha256.toString('hex')}'`, pg.escapeLiteral(oldestRelease)]
  return `insert into schema_migrations (number, name, sha256, oldest_release) values (${number}, ${values.join(', ')})`
}

function hasState(error: unknown, state: string): boolean {
  return error instanceof pg.DatabaseError && error.code === state
}

function alreadyRunning(): OperatorError {
  return new OperatorError(
    'Another process migrates this database: wait until it ends, or end its session, then run migrate again.',
  )
}

function tableInUse(): OperatorError {
  return new OperatorError(
    'A table that the migration changes is locked by another session: nothing was changed; run migrate again when ' +
      'that session has ended.',
  )
}
