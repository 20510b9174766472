import { QUEUE_BOUNDS } from '#core/queues/bounds.ts'
import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { processLedgerJob } from '#jobs/worker/workers.ts'
import { insertReservations, ledgerIds } from '#test/support/limits.ts'
import { openTestPools } from '#test/support/postgres.ts'

const { owner, jobs: service } = await openTestPools()
beforeEach(async () => {
  await owner.query('truncate ledger, ledger_outbox, reservations')
})

describe('the ledger', () => {
  test('holds one entry for each finished reservation, however often and concurrently it is appended', async () => {
    const ids = await insertReservations(owner, 300)
    const jobs = [ids.slice(0, 150), ids.slice(100, 300), ids.slice(50, 250).toReversed(), ids.slice(0, 200)]
    await Promise.all(jobs.map((job) => processLedgerJob(service, { ids: job })))
    // What another job held at that moment is left to it, or to the sweeper.
    for (const job of jobs) await processLedgerJob(service, { ids: job })
    expect(await ledgerIds(owner)).toEqual(ids.toSorted())
  })

  test('gets no entry for a reservation that is still open or does not exist', async () => {
    const [open = ''] = await insertReservations(owner, 1, { state: 'open' })
    await processLedgerJob(service, { ids: [open, '00000000-0000-4000-8000-000000000000'] })
    expect(await ledgerIds(owner)).toEqual([])
  })

  test('charges what was delivered or failed, and not what was refunded', async () => {
    for (const state of ['delivered', 'failed', 'refunded'] as const) {
      const [id = ''] = await insertReservations(owner, 1, { state })
      await processLedgerJob(service, { ids: [id] })
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

  test.each([
    ['more than ids', { ids: [], query: 'what' }],
    ['no ids', {}],
    ['something else than ids', { ids: ['one'] }],
    ['too many ids', { ids: Array.from({ length: QUEUE_BOUNDS.ledgerBatchMax + 1 }, () => randomUUID()) }],
  ])('a job that carries %s is refused', async (_, payload) => {
    await expect(processLedgerJob(service, payload)).rejects.toThrow()
  })

  test('no role writes an entry but as a copy of a settled reservation', async () => {
    const [id = ''] = await insertReservations(owner, 1)
    await expect(
      service.query(
        'insert into ledger select id, organization_id, client_id, environment, api_key_id, entitlement_id, plan_id, ' +
          'knowledge_base_id, version_id, trace_id, fingerprint, fingerprint_epoch, admitted_at, ' +
          "finished_at, state, false, '{}' from reservations where id = $1",
        [id],
      ),
    ).rejects.toThrow('permission denied')
  })
})

describe('the rights of the services', () => {
  test.each(['ledger', 'audit'])('allow no update, no deletion and no truncation of %s', async (table) => {
    const [id = ''] = await insertReservations(owner, 1)
    await processLedgerJob(service, { ids: [id] })
    await service.query("insert into audit (actor, action, subject) values ('test', 'test.act', 'test:1')")
    const column = table === 'ledger' ? 'environment' : 'actor'
    await expect(service.query(`update ${table} set ${column} = 'other'`)).rejects.toThrow('permission denied')
    await expect(service.query(`delete from ${table}`)).rejects.toThrow('permission denied')
    await expect(service.query(`truncate ${table}`)).rejects.toThrow('permission denied')
  })
})
