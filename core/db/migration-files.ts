import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sha256 } from '#core/platform/digest.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { releaseSchema } from './release.ts'
import type { Release } from './release.ts'

/** One file of the folder `migrations`. */
export interface MigrationFile {
  readonly number: number
  readonly name: string
  readonly sql: string
  readonly sha256: Buffer
  /** The oldest release that still runs on the schema after this migration, as the file's first line states. */
  readonly oldestRelease: Release
}

export const MIGRATIONS = fileURLToPath(new URL('./migrations/', import.meta.url))

const NAME = /^(\d{4})-[a-z0-9]+(?:-[a-z0-9]+)*\.sql$/
const HEAD = /^-- Oldest release: (\S+)\n/

/**
 * Reads the migrations in order of their numbers. No file of the folder is left out.
 * @throws OperatorError when a name or a first line does not fit, or two files have one number.
 */
export function readMigrations(folder: string): readonly MigrationFile[] {
  const files = readdirSync(folder)
    .sort()
    .map((name) => readMigration(folder, name))
  for (const [index, file] of files.entries())
    if (file.number === files[index - 1]?.number)
      throw new OperatorError(`Two migrations have the number of ${file.name}: give each a number of its own.`)
  return files
}

function readMigration(folder: string, name: string): MigrationFile {
  const number = NAME.exec(name)?.[1]
  if (number === undefined)
    throw new OperatorError(
      `${name} in the folder of migrations is not named like 0001-what-it-does.sql: rename or remove it.`,
    )
  const bytes = readFileSync(join(folder, name))
  const sql = bytes.toString('utf8')
  const oldestRelease = releaseSchema.safeParse(HEAD.exec(sql)?.[1])
  if (!oldestRelease.success)
    throw new OperatorError(`The first line of migration ${name} must be "-- Oldest release: X.Y.Z".`)
  return { number: Number(number), name, sql, sha256: sha256(bytes), oldestRelease: oldestRelease.data }
}

let shipped: readonly MigrationFile[] | undefined

/** The migrations of this release. They are read once. */
export function shippedMigrations(): readonly MigrationFile[] {
  shipped ??= readMigrations(MIGRATIONS)
  return shipped
}

/** The newest migration of this release. */
export function newestMigration(): number {
  return shippedMigrations().at(-1)?.number ?? 0
}
