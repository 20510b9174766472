import { statSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isReachable } from '#core/db/provision.ts'
import { startPostgres } from '#operator/demo/local/postgres.ts'
import { openTestDatabase, withClient, type TestDatabase } from '#test/support/postgres.ts'
import { openTestRedis, startOwnRedis } from '#test/support/redis.ts'
import { folderOfTest } from '#test/support/folder.ts'

async function rowsOf(url: string, sql: string): Promise<readonly Record<string, unknown>[]> {
  return withClient(url, async (client) => (await client.query<Record<string, unknown>>(sql)).rows)
}

describe('a database of the run', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await openTestDatabase()
  })
  afterAll(() => database.drop())

  test('keeps every acknowledged commit: fsync and synchronous_commit are on', async () => {
    expect(
      await rowsOf(
        database.gatewayUrl,
        "select name, setting from pg_settings where name in ('fsync', 'synchronous_commit', " +
          "'full_page_writes') order by name",
      ),
    ).toEqual([
      { name: 'fsync', setting: 'on' },
      { name: 'full_page_writes', setting: 'on' },
      { name: 'synchronous_commit', setting: 'on' },
    ])
  })

  test('is migrated, and each process logs in with the rights of its own group role alone', async () => {
    const identity =
      "select array(select rolname::text from pg_roles where rolname ~ '^evidence_[a-z]+$' and " +
      "pg_has_role(current_user, oid, 'usage')) as groups, current_setting('is_superuser') as superuser"
    for (const [url, group] of [
      [database.gatewayUrl, 'evidence_gateway'],
      [database.jobsUrl, 'evidence_jobs'],
      [database.operatorUrl, 'evidence_operator'],
      [database.backupUrl, 'evidence_backup'],
      [database.migrationUrl, 'evidence_migration'],
    ] as const)
      expect(await rowsOf(url, identity)).toEqual([{ groups: [group], superuser: 'off' }])
  })

  test('is separate from the database of another test file', async () => {
    await using ending = new AsyncDisposableStack()
    const other = ending.adopt(await openTestDatabase(), (it) => it.drop())
    await rowsOf(other.ownerUrl, 'create table only_here (id int)')
    await expect(rowsOf(database.ownerUrl, 'select * from only_here')).rejects.toThrow(/does not exist/)
  })
})

test('a cluster is taken up again with its content and its password, which only its owner can read', async () => {
  const folder = folderOfTest()
  const first = await startPostgres({ folder })
  await first.createDatabase('kept')
  await rowsOf(first.adminUrl('kept'), 'create table survivor (id int)')
  expect(statSync(join(folder, 'password')).mode & 0o777).toBe(0o600)
  await first.kill()

  const second = await startPostgres({ folder })
  expect(await rowsOf(second.adminUrl('kept'), 'select count(*)::int as rows from survivor')).toEqual([{ rows: 0 }])
  await second.stop()
  expect(await isReachable(second.adminUrl('kept'))).toBe(false)
})

test('two servers never share one data folder', async () => {
  const folder = folderOfTest()
  await using ending = new AsyncDisposableStack()
  ending.adopt(await startPostgres({ folder }), (it) => it.stop())
  await expect(startPostgres({ folder, previousServerTimeoutMs: 200 })).rejects.toThrow(/is in use by process \d+/)
})

test('Redis evicts nothing, logs every write, and has its keys again after a restart', async () => {
  const redis = await startOwnRedis()
  const client = new Redis(redis.url)
  await using ending = new AsyncDisposableStack()
  ending.defer(() => redis.stop())
  ending.defer(async () => client.disconnect())
  client.on('error', () => undefined)
  expect(await client.config('GET', 'maxmemory-policy')).toEqual(['maxmemory-policy', 'noeviction'])
  expect(await client.config('GET', 'appendonly')).toEqual(['appendonly', 'yes'])
  await client.set('kept', 'yes')
  await redis.restart()
  expect(await client.get('kept')).toBe('yes')
})

test('two test files never share a logical Redis database', async () => {
  const [one, two] = await Promise.all([openTestRedis(), openTestRedis()])
  expect(one.url).not.toBe(two.url)
  await Promise.all([one.release(), two.release()])
})
