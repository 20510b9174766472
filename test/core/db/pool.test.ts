import { afterAll, expect, test } from 'vitest'
import { DATABASE_BOUNDS } from '#core/db/bounds.ts'
import { blockReleases } from '#core/db/activations.ts'
import { inTransaction, openDatabase, type Database, type Queryable } from '#core/db/pool.ts'
import { assertUsable } from '#core/db/schema.ts'
import { createLog } from '#core/platform/log.ts'
import { openTestDatabase } from '#test/support/postgres.ts'
import { CALL_TIMEOUT_MS, until } from '#test/support/until.ts'

const urls = await openTestDatabase()
const database = openDatabase(urls.gatewayUrl, createLog('test', 'silent'), 2, CALL_TIMEOUT_MS)
afterAll(async () => {
  await database.end()
  await urls.drop()
})

async function idleAllowedMs(client: Queryable): Promise<number> {
  const { rows } = await client.query<{ setting: string }>(
    "select setting from pg_settings where name = 'idle_in_transaction_session_timeout'",
  )
  return Number(rows[0]?.setting)
}

test(
  'a process that hangs within a transaction loses it and its locks; only an activation may wait as ' +
    'long as loading takes',
  async () => {
    expect(await idleAllowedMs(database)).toBe(DATABASE_BOUNDS.transactionIdleMs)
    await inTransaction(database, async (client) => {
      await blockReleases(client)
      expect(await idleAllowedMs(client)).toBe(DATABASE_BOUNDS.activationTimeoutMs)
    })
    expect(await idleAllowedMs(database)).toBe(DATABASE_BOUNDS.transactionIdleMs)
  },
)

async function sessions(pid: number): Promise<number> {
  return (await database.query('select from pg_stat_activity where pid = $1', [pid])).rowCount ?? 0
}

test('a transaction that the database ended fails in one piece, and the next gets a sound connection', async () => {
  const cut = inTransaction(database, async (client) => {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    const pid = rows[0]?.pid ?? 0
    await client.query("set local idle_in_transaction_session_timeout = '50ms'")
    await until('the session is gone', async () => (await sessions(pid)) === 0)
    await client.query('select 1')
  })
  await expect(cut).rejects.toThrow()
  await inTransaction(database, async (client) =>
    expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }]),
  )
})

/** Every client shares the sessions of one, as transactions do behind PgBouncer in transaction mode. */
test('a pooler in transaction mode is found at start and refused with what is needed; sessions of Postgres are not', async () => {
  await assertUsable(database)
  const session = await database.connect()
  const query = (text: string, values?: unknown[]): unknown => session.query(text, values)
  const client = { query, release: () => undefined, on: () => client, off: () => client }
  const pooled = { ...client, connect: async () => client }
  await expect(assertUsable(pooled as unknown as Database)).rejects.toThrow(/pooler in transaction mode.*session mode/)
  const refusing = { connect: () => Promise.reject(new Error('unsupported startup parameter: statement_timeout')) }
  await expect(assertUsable(refusing as unknown as Database)).rejects.toThrow(/pooler in transaction mode/)
  session.release()
})
