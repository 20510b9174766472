import pg from 'pg'
import { z } from 'zod'
import { OperatorError } from '#core/platform/errors.ts'
import { RELEASE, compareReleases, releaseSchema } from './release.ts'
import type { Release } from './release.ts'
import { newestMigration, shippedMigrations } from './migration-files.ts'
import type { Queryable } from './pool.ts'

const recordedSchema = z.object({
  number: z.number(),
  name: z.string(),
  sha256: z.hex(),
  oldest_release: releaseSchema,
})

/** One migration that was applied to a database. */
export type RecordedMigration = z.infer<typeof recordedSchema>

const RECORDED =
  "select number, name, encode(sha256, 'hex') as sha256, oldest_release from schema_migrations order by number"

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
    ({ number, oldest_release: oldest }) => number > newest && compareReleases(oldest, release) > 0,
  )
  if (unsupported === undefined) return
  throw new OperatorError(
    `The database is at migration ${unsupported.number}, which release ${release} does not run on: ` +
      `deploy release ${unsupported.oldest_release} or a newer one.`,
  )
}
