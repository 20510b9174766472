import { readFileSync, readdirSync } from 'node:fs'
import pg from 'pg'
import { OperatorError } from '#core/platform/errors.ts'

const folder = new URL('./migrations/', import.meta.url)
const LOCK = 7_142_918_221

interface Migration {
  readonly number: number
  readonly name: string
  readonly sql: string
}

function migrations(): readonly Migration[] {
  return readdirSync(folder)
    .filter((name) => /^\d{4}-[a-z-]+\.sql$/.test(name))
    .sort()
    .map((name) => ({ number: Number(name.slice(0, 4)), name, sql: readFileSync(new URL(name, folder), 'utf8') }))
}

/** The newest migration that this code knows. */
export function newestMigration(): number {
  return migrations().at(-1)?.number ?? 0
}

const CREATE =
  'create table if not exists schema_migrations (number integer primary key, name text not null, ' +
  'applied_at timestamptz not null default now())'
/** SQLSTATE of a database without any migration. */
const UNDEFINED_TABLE = '42P01'
const APPLIED = 'select coalesce(max(number), 0)::int as newest from schema_migrations'

/**
 * Applies the missing migrations in order, each in one transaction. A lock allows several processes to start at once.
 * @param url of a role that owns the schema.
 * @throws OperatorError when the database is newer than this code.
 */
export async function migrate(url: string): Promise<{ readonly applied: readonly string[] }> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query('select pg_advisory_lock($1)', [LOCK])
    await client.query(CREATE)
    const { rows } = await client.query<{ newest: number }>(APPLIED)
    const newest = rows[0]?.newest ?? 0
    if (newest > newestMigration()) throw newerSchema(newest)
    const applied: string[] = []
    for (const migration of migrations().filter((candidate) => candidate.number > newest)) {
      await client.query('begin')
      await client.query(migration.sql)
      await client.query('insert into schema_migrations (number, name) values ($1, $2)', [
        migration.number,
        migration.name,
      ])
      await client.query('commit')
      applied.push(migration.name)
    }
    await client.query('grant select on schema_migrations to evidence_service, evidence_operator')
    return { applied }
  } finally {
    await client.end()
  }
}

/** A service refuses to start on a schema other than the one it was written for. */
export async function assertSchemaCurrent(database: pg.Pool): Promise<void> {
  const { rows } = await database.query<{ newest: number }>(APPLIED).catch((error: unknown) => {
    if (error instanceof pg.DatabaseError && error.code === UNDEFINED_TABLE) return { rows: [] }
    throw error
  })
  const newest = rows[0]?.newest ?? 0
  if (newest > newestMigration()) throw newerSchema(newest)
  if (newest < newestMigration())
    throw new OperatorError(
      `The database is at migration ${newest}, this code needs ${newestMigration()}: run "npm run ` +
        'operator -- migrate" first.',
    )
}

function newerSchema(newest: number): OperatorError {
  return new OperatorError(
    `The database is at migration ${newest}, newer than the ${newestMigration()} this code knows: ` +
      'deploy the newer release.',
  )
}
