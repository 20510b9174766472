import { cpSync, existsSync, readFileSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { z } from 'zod'
import { parsePeppers, parseServiceSecrets } from '#core/credentials/settings.ts'
import { readBacklog } from '#core/db/backlog.ts'
import { revokeKeyNow } from '#operator/actions/api-keys.ts'
import { readManifest, writeManifest } from '#operator/actions/backup/manifest.ts'
import { startGateway, startJobs, startSearchNode, storeUrl } from '#operator/demo/local/stack.ts'
import { folderOfFile, folderOfTest } from '#test/support/folder.ts'
import { everythingStored, commandLine, type Cli } from '#test/support/operator-cli.ts'
import { openTestDatabase, withClient, type TestDatabase } from '#test/support/postgres.ts'
import { testSecrets } from '#test/support/secrets.ts'
import { startTestService, type Caller, type TestService } from '#test/support/service.ts'
import { until } from '#test/support/until.ts'

const folder = folderOfFile()
const backups = join(folder, 'backups')
const identity = join(folder, 'backup.key')
const target = join(folder, 'restored')
const databases: TestDatabase[] = []
let service: TestService
let callers: readonly Caller[]
let recipient: string
let names: readonly string[]

const writtenSchema = z.object({ name: z.string(), files: z.int(), removed: z.array(z.string()) })

/** The command line of an installation: of the running one, or of one that is to be. */
function operatorOf(url: string, at: string, changed: Readonly<Record<string, string>> = {}): Cli {
  return commandLine({
    DATABASE_URL: url,
    BACKUP_DATABASE_URL: service.database.backupUrl,
    REDIS_URL: service.settings.redisUrl,
    ARTIFACT_STORE: storeUrl({ folder: at }),
    ...service.settings.secrets,
    OPERATOR_ACTOR: 'on-call',
    ...changed,
  })
}

/** A database without a schema, as `provisionLogins` leaves it. */
async function emptyDatabase(): Promise<TestDatabase> {
  const database = await openTestDatabase(inject('servers'), 'template1')
  databases.push(database)
  await withOwner(database, (owner) => owner.query(`alter database ${database.name} owner to evidence_migration`))
  return database
}

const withOwner = <T>({ ownerUrl }: TestDatabase, work: (owner: pg.Client) => Promise<T>): Promise<T> =>
  withClient(ownerUrl, work)

const filesOf = (at: string): readonly string[] =>
  readdirSync(at, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(at.length))
    .toSorted()

async function answerOf(caller: Caller, baseUrl?: string) {
  const {
    request_id: _,
    trace_id: __,
    ...reply
  } = (await caller.ask({}, baseUrl === undefined ? {} : { baseUrl })).retrieved()
  return reply
}

beforeAll(async () => {
  service = await startTestService()
  callers = [await service.createCaller(), await service.createCaller()]
  for (const caller of callers) await until('requests are served', async () => (await caller.ask()).status === 200)
  const cli = operatorOf(service.database.operatorUrl, service.settings.folder)
  recipient = z.object({ recipient: z.string() }).parse(await cli.json(`backup key --out ${identity}`)).recipient
  const backup = async () => writtenSchema.parse(await cli.json(`backup ${backups} --recipient ${recipient} --keep 2`))
  const ageOf = async () => (await readBacklog(service.owner))?.backup_age_seconds
  await service.owner.query("update schema_migrations set applied_at = applied_at - interval '9 days'")
  expect(await ageOf()).toBeGreaterThan(8 * 86_400)
  const first = await backup()
  expect(await ageOf()).toBeLessThan(86_400)
  const parts = filesOf(join(backups, 'parts'))
  await callers[0]?.ask()
  await revokeKeyNow(service.operator, callers[1]?.keyId ?? '')
  await cli.json(`fingerprints erase ${callers[0]?.organization} --yes`)
  const second = await backup()
  expect([first.removed, second.removed, second.files]).toEqual([[], [], first.files])
  // Only tables that changed.
  expect(filesOf(join(backups, 'parts')).length - parts.length).toBeLessThan(12)
  names = [first.name, second.name]
})
afterAll(async () => {
  await service?.stop()
  for (const database of databases) await database.drop()
})

describe('a restore is refused with a sentence, and nothing is written', () => {
  const ALTERED = 'altered'
  const damaged: Readonly<Record<string, readonly [(copy: string) => void, string]>> = {
    'a part with another byte': [
      (copy) => damage(copy, (bytes) => bytes.writeUInt8((bytes.at(-40) ?? 0) ^ 1, bytes.length - 40)),
      ALTERED,
    ],
    'a part that is cut short': [(copy) => truncateSync(largestPart(copy), 64 * 1024), ALTERED],
    'a part that is another one': [(copy) => cpSync(somePart(copy), largestPart(copy)), ALTERED],
    'a missing part': [(copy) => rmSync(largestPart(copy)), 'is missing'],
    'a manifest with another count': [
      (copy) => rewrite(copy, (text) => text.replace(/"rows":(\d)/, '"rows":9$1')),
      'The manifest of backup',
    ],
    'a manifest of another form': [(copy) => rewrite(copy, () => '{}'), 'that can be read'],
    'no backup': [(copy) => rmSync(join(copy, 'manifests'), { recursive: true }), 'holds no backup'],
  }
  const largestPart = (copy: string): string =>
    filesOf(join(copy, 'parts'))
      .map((path) => join(copy, 'parts', path))
      .toSorted((a, b) => readFileSync(b).length - readFileSync(a).length)[0] ?? ''
  const somePart = (copy: string): string => join(copy, 'parts', filesOf(join(copy, 'parts'))[0] ?? '')
  function damage(copy: string, change: (bytes: Buffer) => unknown): void {
    const bytes = readFileSync(largestPart(copy))
    change(bytes)
    writeFileSync(largestPart(copy), bytes)
  }
  function rewrite(copy: string, change: (text: string) => string): void {
    const path = join(copy, 'manifests', `${names[1]}.json`)
    writeFileSync(path, change(readFileSync(path, 'utf8')))
  }

  test.each(Object.entries(damaged))('%s', async (_, [change, sentence]) => {
    const [copy, database] = [join(folderOfTest(), 'copy'), await emptyDatabase()]
    cpSync(backups, copy, { recursive: true })
    change(copy)
    await expectRefused(database, `restore run ${copy} --identity ${identity}`, sentence)
  })

  test('another key, and other or missing secrets, which it names', async () => {
    const database = await emptyDatabase()
    const other = join(folderOfTest(), 'other.key')
    await commandLine({}).json(`backup key --out ${other}`)
    await expectRefused(database, `restore run ${backups} --identity ${other}`, 'encrypted to another key')
    const run = `restore run ${backups} --identity ${identity}`
    const { KEY_PEPPERS, SERVICE_SECRET, MANIFEST_PUBLIC_KEY } = testSecrets()
    for (const changed of [{ KEY_PEPPERS }, { SERVICE_SECRET }, { MANIFEST_PUBLIC_KEY }])
      await expectRefused(database, run, `others here: ${Object.keys(changed)[0]} (`, changed)
    await expectRefused(database, run, 'SERVICE_SECRET is missing', { SERVICE_SECRET: '' })
  })

  test('a backup of a newer release, and one restore beside another', async () => {
    const [copy, database] = [join(folderOfTest(), 'copy'), await emptyDatabase()]
    cpSync(backups, copy, { recursive: true })
    const { KEY_PEPPERS, SERVICE_SECRET, MANIFEST_PUBLIC_KEY } = service.settings.secrets
    const secrets = {
      KEY_PEPPERS: parsePeppers(KEY_PEPPERS),
      SERVICE_SECRET: parseServiceSecrets(SERVICE_SECRET),
      MANIFEST_PUBLIC_KEY: [Buffer.from(MANIFEST_PUBLIC_KEY, 'base64')],
    }
    const manifest = await readManifest(copy, names[1] ?? '', secrets)
    const migration = { ...manifest.migration, number: 999, name: '0999-later.sql' }
    await writeManifest(copy, { ...manifest, migration }, secrets.SERVICE_SECRET)
    await expectRefused(database, `restore run ${copy} --identity ${identity}`, 'migration 0999-later.sql')
    await withOwner(database, async (owner) => {
      await owner.query('select pg_advisory_lock(7142918222)')
      await expectRefused(database, `restore run ${backups} --identity ${identity}`, 'Another backup or restore runs')
    })
  })

  test('a database that has tables, and a store that has a file', async () => {
    const run = `restore run ${backups} --identity ${identity}`
    const url = service.database.migrationUrl
    const before = await withOwner(service.database, everythingStored)
    const at = join(folderOfTest(), 'new')
    expect(await operatorOf(url, at).refused(run)).toContain('The database has tables')
    expect([await withOwner(service.database, everythingStored), existsSync(at)]).toEqual([before, false])
    const database = await emptyDatabase()
    const { folder: used } = service.settings
    expect(await operatorOf(database.migrationUrl, used).refused(run)).toContain('restore into an empty store')
    expect(await tablesOf(database)).toBe(0)
  })

  async function expectRefused(
    database: TestDatabase,
    line: string,
    sentence: string,
    changed?: Readonly<Record<string, string>>,
  ): Promise<void> {
    const at = join(folderOfTest(), 'new')
    expect(await operatorOf(database.migrationUrl, at, changed).refused(line)).toContain(sentence)
    expect([await tablesOf(database), existsSync(at)]).toEqual([0, false])
  }

  const tablesOf = (database: TestDatabase): Promise<number | null> =>
    withOwner(
      database,
      async (owner) => (await owner.query('select from pg_tables where schemaname = $1', ['public'])).rowCount,
    )
})

test('a restored installation gives the same reply once the loss is accepted, and what was revoked stays so', async () => {
  const [caller, revoked] = callers
  if (caller === undefined || revoked === undefined) throw new Error('there are two callers')
  const before = await answerOf(caller)
  for (const process of [...service.gateways, service.jobs, ...service.searchNodes]) await process.stop()
  const database = await emptyDatabase()
  const restored = await operatorOf(database.migrationUrl, target).json(
    `restore run ${backups} --identity ${identity} --backup ${names[0]}`,
  )
  expect(restored).toMatchObject({
    backup: names[0],
    active: { [service.versionId]: expect.any(String) },
    keys_revoked_again: 1,
    epochs_erased_again: 1,
  })
  // A cluster has one login a role, so only the name of the database is another one.
  const settings = {
    ...service.settings,
    folder: target,
    gatewayDatabaseUrl: database.gatewayUrl,
    jobsDatabaseUrl: database.jobsUrl,
  }
  const node = service.add(await startSearchNode(settings))
  service.add(await startJobs(settings, [node.address]))
  const { baseUrl } = service.add(await startGateway(settings, [node.address]))
  await until('the loss is noticed', async () => (await caller.ask({}, { baseUrl })).status === 503)
  const cli = operatorOf(database.operatorUrl, target)
  expect(await cli.json('restore accept --yes')).toMatchObject({
    replies: [{ client: caller.client, replies: 2 }],
    accepted: true,
  })
  await until('requests are served', async () => (await caller.ask({}, { baseUrl })).status === 200)
  expect(await answerOf(caller, baseUrl)).toEqual(before)
  expect((await revoked.ask({}, { baseUrl })).status).toBe(401)
  expect(await cli.run('audit verify')).toMatchObject({ code: 0 })
  expect(await cli.run('doctor')).toMatchObject({ code: 0 })
  // The store is the same, byte for byte, but for what the worker writes.
  const kept = (at: string): readonly string[] =>
    filesOf(join(at, 'store')).filter((path) => /^.(?:art|rep|sna)/.test(path))
  expect(kept(target)).toEqual(kept(service.settings.folder))
})

test('--keep removes older backups and what only they hold, never the newest', async () => {
  const copy = join(folderOfTest(), 'copy')
  cpSync(backups, copy, { recursive: true })
  const cli = operatorOf(service.database.operatorUrl, service.settings.folder)
  const written = writtenSchema.parse(await cli.json(`backup ${copy} --recipient ${recipient} --keep 1`))
  expect(written.removed).toEqual(names)
  expect(filesOf(join(copy, 'manifests'))).toEqual([`/${written.name}.json`])
  expect(await cli.json(`restore run ${copy} --identity ${identity} --check`)).toEqual({
    backup: written.name,
    whole: true,
  })
})

test('captures alone have numbers of a sequence, which a restore moves', async () => {
  const { rows } = await service.owner.query(
    "select relname::text from pg_class where relkind = 'S' and relnamespace = 'public'::regnamespace",
  )
  expect(rows).toEqual([{ relname: 'captures_id_seq' }])
})
