import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { OperatorError } from '#core/platform/errors.ts'
import { migrate, readMigrations } from '#core/db/schema.ts'
import { RELEASE } from '#core/platform/release.ts'
import { openEmptyDatabase, type EmptyDatabase } from '#test/support/postgres.ts'
import { startFaultProxy } from '#test/support/proxy.ts'
import { folderOfFile } from '#test/support/folder.ts'

const RECORD = "select number, name, encode(sha256, 'hex') as sha256, oldest_release from schema_migrations order by 1"
const CONTRADICTION = 'was applied, and now is missing, changed or after a new one: restore it as it was.'
const HEAD = `-- Oldest release: ${RELEASE}\n`

let database: EmptyDatabase
const root = folderOfFile()
let folder: string
let clients: pg.Client[]
beforeEach(async () => {
  database = await openEmptyDatabase()
  folder = mkdtempSync(join(root, 'each-'))
  clients = []
  add('0001-notes.sql', 'create table notes (id integer primary key);')
  add('0002-note-texts.sql', 'alter table notes add column text text;')
})
afterEach(async () => {
  for (const client of clients) await client.end()
  await database.drop()
})

function add(name: string, sql: string, head: string = HEAD): void {
  writeFileSync(join(folder, name), `${head}${sql}\n`)
}

async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  clients.push(client)
  return client
}

async function rows(sql: string): Promise<readonly unknown[]> {
  return (await (await connect()).query<Record<string, unknown>>(sql)).rows
}

async function sentenceOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof OperatorError)) throw new Error('no OperatorError', { cause: error })
  return error.message
}

describe('migrate', () => {
  test('applies every file of the folder once, digits in its name included', async () => {
    add('0003-add-v2-index.sql', 'create index v2 on notes (text);')
    const all = ['0001-notes.sql', '0002-note-texts.sql', '0003-add-v2-index.sql']
    expect(await migrate(database.url, folder)).toEqual(all)
    expect(await rows("select to_regclass('v2') is not null as found")).toEqual([{ found: true }])
    expect(await migrate(database.url, folder)).toEqual([])
  })

  test('applies files until a number, and the others later', async () => {
    expect(await migrate(database.url, folder, undefined, 1)).toEqual(['0001-notes.sql'])
    expect(await migrate(database.url, folder)).toEqual(['0002-note-texts.sql'])
  })

  test.each(['0003_index.sql', '003-index.sql', '0003-Index.sql', '0003-index.txt', '.0003-index.sql', 'notes'])(
    'refuses a file named %s, and applies nothing',
    async (name) => {
      add(name, 'select 1;')
      expect(await sentenceOf(migrate(database.url, folder))).toMatch(`Migration ${name} needs a name like 0001-x.sql`)
      expect(await rows("select to_regclass('notes') as found")).toEqual([{ found: null }])
    },
  )

  test.each(['', '-- A comment.\n', '-- Oldest release: 1.0\n', '-- oldest release: 0.2.0\n', `\n${HEAD}`])(
    'refuses a file that begins with %j, because it does not state its oldest release',
    async (head) => {
      add('0003-index.sql', 'select 1;', head)
      expect(await sentenceOf(migrate(database.url, folder))).toMatch(
        /^Migration 0003-index.sql needs .* a head "-- Oldest release: X\.Y\.Z"/,
      )
    },
  )

  test('refuses two files with one number', async () => {
    add('0002-other.sql', 'select 1;')
    expect(await sentenceOf(migrate(database.url, folder))).toMatch(
      /^Migration 0002-other.sql needs .* a number of its own/,
    )
  })

  test('records name, SHA-256 and oldest release of each file in the transaction of the migration', async () => {
    add('0003-broken.sql', 'create table half (id integer); select 1/0;')
    await expect(migrate(database.url, folder)).rejects.toThrow('division by zero')
    const [first, second] = readMigrations(folder)
    expect(await rows(RECORD)).toEqual(
      [first, second].map((file) => ({
        number: file?.number,
        name: file?.name,
        sha256: file?.sha256,
        oldest_release: RELEASE,
      })),
    )
    expect(await rows("select to_regclass('half') as half")).toEqual([{ half: null }])
    rmSync(join(folder, '0003-broken.sql'))
    add('0003-whole.sql', 'create table half (id integer);')
    expect(await migrate(database.url, folder)).toEqual(['0003-whole.sql'])
  })

  test('an installation of the release that migrated with node-pg-migrate keeps its record', async () => {
    const [first] = readMigrations(folder)
    await migrate(database.url, folder)
    await rows(
      'drop table notes, pgmigrations; create table notes (id integer primary key); ' +
        'delete from schema_migrations where number = 2; ' +
        'create table pgmigrations (id serial primary key, name text not null, run_on timestamp not null); ' +
        "insert into pgmigrations (name, run_on) values ('0001-notes', now())",
    )
    expect(await migrate(database.url, folder)).toEqual(['0002-note-texts.sql'])
    expect(await rows(RECORD)).toMatchObject([{ sha256: first?.sha256 }, { name: '0002-note-texts.sql' }])
  })

  test('refuses a file that was changed, removed or renamed after it was applied', async () => {
    await migrate(database.url, folder)
    appendFileSync(join(folder, '0002-note-texts.sql'), '-- one more line\n')
    expect(await sentenceOf(migrate(database.url, folder))).toBe(`Migration 0002-note-texts.sql ${CONTRADICTION}`)
    rmSync(join(folder, '0002-note-texts.sql'))
    add('0003-index.sql', 'select 1;')
    expect(await sentenceOf(migrate(database.url, folder))).toBe(`Migration 0002-note-texts.sql ${CONTRADICTION}`)
  })

  test('refuses a file that comes before one that was applied', async () => {
    add('0004-later.sql', 'select 1;')
    await migrate(database.url, folder)
    add('0003-late.sql', 'select 1;')
    expect(await sentenceOf(migrate(database.url, folder))).toBe(`Migration 0004-later.sql ${CONTRADICTION}`)
  })

  test('leaves a newer schema alone if it states that this release runs on it, and refuses any other', async () => {
    add('0003-later.sql', 'select 1;')
    await migrate(database.url, folder)
    rmSync(join(folder, '0003-later.sql'))
    expect(await migrate(database.url, folder)).toEqual([])
    await rows("update schema_migrations set oldest_release = '999.0.0' where number = 3")
    expect(await sentenceOf(migrate(database.url, folder))).toBe(
      `The database is at migration 3, which release ${RELEASE} does not run on: ` +
        'deploy release 999.0.0 or a newer one.',
    )
  })
})

describe('locks', () => {
  test('a migration that another process runs is waited for, for a bounded time', async () => {
    const other = await connect()
    await other.query('select pg_advisory_lock(7142918221)')
    expect(await sentenceOf(migrate(database.url, folder, 100))).toBe(
      'The schema, which another process migrates, is locked by another session, and nothing was changed: repeat the ' +
        'command when that session has ended.',
    )
    const waiting = migrate(database.url, folder)
    await other.query('select pg_advisory_unlock(7142918221)')
    expect(await waiting).toHaveLength(2)
  })

  test('a connection that is lost rejects, and leaves nothing behind', async () => {
    add('0003-half.sql', 'create table half (id integer);')
    const proxy = await startFaultProxy(database.url)
    try {
      const cut = proxy.trip('cut', 'create table half')
      await expect(migrate(proxy.url, folder)).rejects.toThrow('ECONNRESET')
      await cut.seen
    } finally {
      await proxy.stop()
    }
    expect(await rows("select to_regclass('half') as half, count(*)::int as recorded from schema_migrations")).toEqual([
      { half: null, recorded: 2 },
    ])
  })

  test('several processes that migrate at once apply each migration once', async () => {
    const runs = await Promise.all([1, 2, 3].map(() => migrate(database.url, folder)))
    expect(runs.flat()).toEqual(['0001-notes.sql', '0002-note-texts.sql'])
  })

  test('a table that another session keeps locked ends the migration, which leaves nothing behind', async () => {
    await migrate(database.url, folder)
    add('0003-more.sql', 'create table more (id integer); alter table notes add column at date;')
    const other = await connect()
    await other.query('begin; lock table notes in access share mode')
    expect(await sentenceOf(migrate(database.url, folder))).toBe(
      'A table that the migration changes is locked by another session, and nothing was changed: repeat the command ' +
        'when that session has ended.',
    )
    expect(await rows("select to_regclass('more') as more")).toEqual([{ more: null }])
    await other.query('rollback')
    expect(await migrate(database.url, folder)).toEqual(['0003-more.sql'])
  })
})
