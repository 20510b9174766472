import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Variables } from '#core/platform/config.ts'
import { openDatabase, type Database } from '#core/db/pool.ts'
import { createLog } from '#core/platform/log.ts'
import { SHIPPED_MIGRATIONS } from '#core/db/schema.ts'
import { RELEASE } from '#core/platform/release.ts'
import { GATEWAY_VARIABLES } from '#gateway/config.ts'
import { JOBS_VARIABLES } from '#jobs/platform/config.ts'
import { TRACE_VARIABLES } from '#jobs/trace/config.ts'
import { SEARCH_NODE_VARIABLES } from '#search-node/config.ts'
import { freePort } from '#operator/demo/local/supervised-process.ts'
import { openTestDatabase, type TestDatabase } from '#test/support/postgres.ts'
import { runScript, startProgram } from '#test/support/processes.ts'
import { startOwnRedis } from '#test/support/redis.ts'
import { testSecrets } from '#test/support/secrets.ts'
import { expectEventually } from '#test/support/until.ts'

const SERVICES: readonly { readonly script: string; readonly variables: Variables }[] = [
  { script: 'gateway/main.ts', variables: GATEWAY_VARIABLES },
  { script: 'search-node/main.ts', variables: SEARCH_NODE_VARIABLES },
  { script: 'jobs/worker/main.ts', variables: JOBS_VARIABLES },
  { script: 'jobs/trace/main.ts', variables: TRACE_VARIABLES },
]

type Ended = Awaited<ReturnType<typeof runScript>>

/** Runs an entry point under plain Node, with these variables alone, until it ends. */
function boot(script: string, environment: Readonly<Record<string, string>>): Promise<Ended> {
  return runScript([script], environment, { PATH: '/usr/bin:/bin' })
}

describe.each(SERVICES)('$script under plain Node', ({ script, variables }) => {
  test('without its environment names every variable that it lacks at once, and no other', async () => {
    const required = Object.entries(variables).filter(([, variable]) => !variable.schema.safeParse(undefined).success)
    const ended = await boot(script, {})
    expect(ended.code).toBe(1)
    const named = [...ended.output.matchAll(/^ {2}([A-Z_]+) is missing: /gm)].map(([, name]) => name)
    expect(new Set(named)).toEqual(new Set(required.map(([name]) => name)))
  })

  test('with a wrong value for every variable names each, and prints none of the values', async () => {
    const wrong = Object.fromEntries(Object.keys(variables).map((name) => [name, `hunter2 ${name.toLowerCase()}`]))
    const ended = await boot(script, wrong)
    expect(ended.code).toBe(1)
    expect(ended.output).not.toContain('hunter2')
    const faulty = Object.entries(variables).filter(
      ([name, variable]) => !variable.schema.safeParse(wrong[name]).success,
    )
    expect(faulty.length).toBeGreaterThan(0)
    for (const [name] of faulty) expect(ended.output).toContain(`${name} is not valid: `)
  })
})

describe('a database that cannot be used', () => {
  let database: TestDatabase
  let owner: Database
  let environment: Readonly<Record<string, string>>
  beforeAll(async () => {
    database = await openTestDatabase()
    owner = openDatabase(database.ownerUrl, createLog('test', 'silent'), 1)
    const { KEY_PEPPERS, SERVICE_SECRET, MANIFEST_PUBLIC_KEY, MANIFEST_PRIVATE_KEY } = testSecrets()
    environment = {
      REDIS_URL: 'redis://127.0.0.1:1',
      SEARCH_NODES: '127.0.0.1:1',
      ARTIFACT_STORE: 'file:///nonexistent',
      KEY_ENVIRONMENT: 'live',
      KEY_PEPPERS,
      SERVICE_SECRET,
      MANIFEST_PUBLIC_KEY,
      MANIFEST_PRIVATE_KEY,
      LOG_LEVEL: 'error',
    }
  })
  afterAll(async () => {
    await owner.end()
    await database.drop()
  })
  const bootBoth = (): Promise<readonly Ended[]> =>
    Promise.all([
      boot('gateway/main.ts', { ...environment, DATABASE_URL: database.gatewayUrl }),
      boot('jobs/worker/main.ts', { ...environment, DATABASE_URL: database.jobsUrl }),
    ])

  test.each([
    ['gateway/main.ts', 'GATEWAY_INTERNAL_LISTEN'],
    ['jobs/worker/main.ts', 'JOBS_LISTEN'],
  ])('that does not answer is awaited by %s, alive and not ready, until a signal ends it', async (script, listen) => {
    const at = `127.0.0.1:${await freePort()}`
    const away = { DATABASE_URL: 'postgres://login:secret@127.0.0.1:1/evidence', LOG_LEVEL: 'warn', [listen]: at }
    const { child, said, ended } = startProgram([script], { PATH: '/usr/bin:/bin', ...environment, ...away })
    const statusOf = async (page: string): Promise<number> => (await fetch(`http://${at}/${page}`)).status
    await expectEventually(async () => [await statusOf('livez'), await statusOf('readyz')], [200, 503])
    expect(said.both).toMatch(/"event":"postgres is awaited".*ECONNREFUSED/)
    expect(said.both).not.toContain('secret')
    child.kill()
    expect(await ended).toBe(1)
  })

  test('that is newer and states that this release does not run on it is refused in one sentence', async () => {
    const add =
      'insert into schema_migrations (number, name, sha256, oldest_release) values (9999, $1::text, sha256($1::text::bytea), $2)'
    await owner.query(add, ['9999-later.sql', '999.0.0'])
    const at = `The database is at migration 9999, which release ${RELEASE} does not run on: `
    const sentence = `${at}deploy release 999.0.0 or a newer one.\n`
    expect(await bootBoth()).toEqual([
      { code: 1, output: sentence },
      { code: 1, output: sentence },
    ])
    await owner.query('delete from schema_migrations where number = 9999')
  })

  test('that lacks a migration, or all of them, is refused in one sentence that names the command', async () => {
    const lacks = (name: string): Ended => ({
      code: 1,
      output:
        `The database lacks migration ${name}, which this release needs: run "npm run operator -- ` +
        `migrate" first.\n`,
    })
    const [first = '', last = ''] = [SHIPPED_MIGRATIONS.at(0)?.name, SHIPPED_MIGRATIONS.at(-1)?.name]
    await owner.query('delete from schema_migrations where name = $1', [last])
    expect(await bootBoth()).toEqual([lacks(last), lacks(last)])
    await owner.query('drop table schema_migrations')
    expect(await bootBoth()).toEqual([lacks(first), lacks(first)])
  })
})

test('a job worker refuses a Redis that may evict its jobs', async () => {
  const database = await openTestDatabase()
  const redis = await startOwnRedis()
  const client = new Redis(redis.url)
  await using ending = new AsyncDisposableStack()
  ending.defer(() => database.drop())
  ending.defer(() => redis.stop())
  ending.defer(async () => client.disconnect())
  await client.config('SET', 'maxmemory-policy', 'allkeys-lru')
  const { MANIFEST_PUBLIC_KEY, MANIFEST_PRIVATE_KEY } = testSecrets()
  const ended = await boot('jobs/worker/main.ts', {
    DATABASE_URL: database.jobsUrl,
    REDIS_URL: redis.url,
    SEARCH_NODES: '127.0.0.1:1',
    ARTIFACT_STORE: 'file:///nonexistent',
    MANIFEST_PUBLIC_KEY,
    MANIFEST_PRIVATE_KEY,
    LOG_LEVEL: 'error',
  })
  expect(ended).toEqual({
    code: 1,
    output: 'Redis may evict keys (maxmemory-policy is allkeys-lru): set "maxmemory-policy noeviction".\n',
  })
})
