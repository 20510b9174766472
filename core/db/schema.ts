import pg from 'pg'
import { z } from 'zod'
import { OperatorError } from '#core/platform/errors.ts'
import { RELEASE, compareReleases, releaseSchema } from '#core/platform/release.ts'
import type { Release } from '#core/platform/release.ts'
import { newestMigration, shippedMigrations } from './migration-files.ts'
import type { Queryable } from './pool.ts'

const recordedSchema = z.object({
  number: z.number(),
  name: z.string(),
  /** null: applied by a release that did not record it. */
  sha256: z.hex().nullable(),
  oldest_release: releaseSchema.nullable(),
})

/** One migration that was applied to a database. */
export type RecordedMigration = z.infer<typeof recordedSchema>

/** A row as JSON, because release 0.1.0 recorded no digest and no oldest release. */
const RECORDED = `
  select m.number, m.name, substr(to_jsonb(m) ->> 'sha256', 3) as sha256,
    to_jsonb(m) ->> 'oldest_release' as oldest_release
  from schema_migrations m order by m.number`

/** SQLSTATE of a database without any migration. */
const UNDEFINED_TABLE = '42P01'

/** Migrations that were applied, in order of their numbers; none where the schema is absent. */
export async function recordedMigrations(database: Queryable): Promise<readonly RecordedMigration[]> {
  const { rows } = await database.query(RECORDED).catch((error: unknown) => {
    if (error instanceof pg.DatabaseError && error.code === UNDEFINED_TABLE) return { rows: [] }
    throw error
  })
  return z.array(recordedSchema).parse(rows)
}

/**
 * Asserts that this release runs on the schema: all its migrations were applied, and each newer migration states that
 * this release still runs after it.
 * @throws OperatorError with one sentence.
 */
export async function assertSchemaCompatible(database: Queryable): Promise<void> {
  const recorded = await recordedMigrations(database)
  assertReleaseSupported(recorded, newestMigration(), RELEASE)
  const missing = shippedMigrations().find(({ name }) => !recorded.some((migration) => migration.name === name))
  if (missing !== undefined)
    throw new OperatorError(
      `The database lacks migration ${missing.name}, which this release needs: run "npm run operator -- ` +
        'migrate" first.',
    )
}

/**
 * Asserts that `release`, whose newest migration is `newest`, runs after every newer migration that was applied.
 * @throws OperatorError that names the first migration that ends support.
 */
export function assertReleaseSupported(recorded: readonly RecordedMigration[], newest: number, release: Release): void {
  const unsupported = recorded.find(
    ({ number, oldest_release: oldest }) =>
      number > newest && (oldest === null || compareReleases(oldest, release) > 0),
  )
  if (unsupported === undefined) return
  const needed =
    unsupported.oldest_release === null ? 'a newer release' : `release ${unsupported.oldest_release} or a newer one`
  throw new OperatorError(
    `The database is at migration ${unsupported.number}, which release ${release} does not run on: deploy ${needed}.`,
  )
}
