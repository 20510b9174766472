import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { BOUNDS } from '#core/platform/bounds.ts'
import { openDatabase } from '#core/db/pool.ts'
import type { Database } from '#core/db/pool.ts'
import { createLog } from '#core/platform/log.ts'
import { createLedgerAppender } from '#jobs/ledger/append.ts'
import { insertReservations, ledgerIds } from '#test/support/jobs/reservations.ts'
import { openTestDatabase } from '#test/support/database.ts'
import type { TestDatabase } from '#test/support/database.ts'

const log = createLog('test', 'silent')
let test_: TestDatabase
let owner: Database
let service: Database

beforeAll(async () => {
  test_ = await openTestDatabase()
  owner = openDatabase(test_.ownerUrl, log, 4)
  service = openDatabase(test_.jobsUrl, log, 8)
})
afterAll(async () => {
  await owner.end()
  await service.end()
  await test_.drop()
})
beforeEach(async () => {
  await owner.query('truncate ledger, reservations')
})

describe('the ledger', () => {
  test('holds one entry for each finished reservation, however often and concurrently it is appended', async () => {
    const ids = await insertReservations(owner, 300)
    const [one, other] = [createLedgerAppender(service), createLedgerAppender(service)]
    await Promise.all([...ids, ...ids, ...ids].map((id, at) => (at % 2 === 0 ? one : other).append(id)))
    await Promise.all(ids.map((id) => one.append(id)))
    expect(await ledgerIds(owner)).toEqual(ids.toSorted())
  })

  test('gets no entry for a reservation that is still open or does not exist', async () => {
    const [open = ''] = await insertReservations(owner, 1, { state: 'open' })
    const appender = createLedgerAppender(service)
    await Promise.all([appender.append(open), appender.append('00000000-0000-4000-8000-000000000000')])
    expect(await ledgerIds(owner)).toEqual([])
  })

  test('charges what was delivered or failed, and not what was refunded', async () => {
    for (const state of ['delivered', 'failed', 'refunded'] as const) {
      const [id = ''] = await insertReservations(owner, 1, { state })
      await createLedgerAppender(service).append(id)
    }
    const { rows } = await owner.query<{ state: string; charged: boolean }>(
      'select state, charged from ledger order by state',
    )
    expect(rows).toEqual([
      { state: 'delivered', charged: true },
      { state: 'failed', charged: true },
      { state: 'refunded', charged: false },
    ])
  })

  test('tells every job of a batch that failed, and takes the next batch', async () => {
    const broken = { query: () => Promise.reject(new Error('the database is away')) }
    const appender = createLedgerAppender(broken)
    const results = await Promise.allSettled(
      Array.from({ length: BOUNDS.ledgerBatchMax + 5 }, (_, n) => appender.append(String(n))),
    )
    expect(new Set(results.map((result) => result.status))).toEqual(new Set(['rejected']))
    await sleep(0)
    await expect(appender.append('next')).rejects.toThrow('the database is away')
  })
})

describe('the rights of the services', () => {
  test.each(['ledger', 'audit'])('allow no update, no deletion and no truncation of %s', async (table) => {
    const [id = ''] = await insertReservations(owner, 1)
    await createLedgerAppender(service).append(id)
    await service.query("insert into audit (actor, action, subject) values ('test', 'test.act', 'test:1')")
    const column = table === 'ledger' ? 'environment' : 'actor'
    await expect(service.query(`update ${table} set ${column} = 'other'`)).rejects.toThrow('permission denied')
    await expect(service.query(`delete from ${table}`)).rejects.toThrow('permission denied')
    await expect(service.query(`truncate ${table}`)).rejects.toThrow('permission denied')
  })
})
