import { beforeEach, describe, expect, test } from 'vitest'
import type { Database } from '#core/db/pool.ts'
import { SHIPPED_MIGRATIONS, assertSchemaCompatible } from '#core/db/schema.ts'
import { RELEASE } from '#core/platform/release.ts'
import { connectTestPools } from '#test/support/postgres.ts'

const NEWEST = SHIPPED_MIGRATIONS.at(-1)?.number ?? 0

let owner: Database
beforeEach(async () => {
  const pools = await connectTestPools()
  owner = pools.owner
  return pools.close
})

async function record(number: number, oldestRelease: string): Promise<void> {
  await owner.query(
    "insert into schema_migrations (number, name, sha256, oldest_release) values ($1, $2, sha256(''), $3)",
    [number, `${number}-later.sql`, oldestRelease],
  )
}

describe('a release', () => {
  test('runs on the schema that its own migrations make', async () => {
    await expect(assertSchemaCompatible(owner)).resolves.toBeUndefined()
  })

  test('runs on a newer schema if every newer migration states it or an older release', async () => {
    await record(NEWEST + 1, '0.1.0')
    await record(NEWEST + 2, RELEASE)
    await expect(assertSchemaCompatible(owner)).resolves.toBeUndefined()
  })

  test('refuses a newer schema if one of the newer migrations states a newer release', async () => {
    // Releases are ordered by their numbers, not by their characters.
    await record(NEWEST + 1, '0.10.0')
    await record(NEWEST + 2, RELEASE)
    await expect(assertSchemaCompatible(owner)).rejects.toThrow(
      `The database is at migration ${NEWEST + 1}, which release ${RELEASE} does not run on: ` +
        'deploy release 0.10.0 or a newer one.',
    )
  })

  test('refuses a schema that lacks any of its migrations, also one before the newest that was applied', async () => {
    await record(NEWEST + 1, RELEASE)
    await owner.query('delete from schema_migrations where number = 1')
    await expect(assertSchemaCompatible(owner)).rejects.toThrow(
      'The database lacks migration 0001-schema.sql, which this release needs',
    )
  })
})

test('no migration needs a newer release than the one that ships it', () => {
  for (const { name, oldest_release: oldest } of SHIPPED_MIGRATIONS)
    expect.soft(oldest.localeCompare(RELEASE, 'en', { numeric: true }), name).toBeLessThanOrEqual(0)
})
