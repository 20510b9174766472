import { randomBytes, randomUUID } from 'node:crypto'
import { QUEUE_BOUNDS } from '#core/queues/bounds.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { createLog } from '#core/platform/log.ts'
import { JOB_BOUNDS } from '#jobs/platform/bounds.ts'
import { sweep, type SweepDeps } from '#jobs/worker/maintenance/sweep.ts'
import { forgetOld, processLedgerJob } from '#jobs/worker/workers.ts'
import { insertReservations, ledgerIds } from '#test/support/limits.ts'
import { openTestPools, withoutGuards } from '#test/support/postgres.ts'

const log = createLog('test', 'silent')
const { owner, jobs: service } = await openTestPools()
beforeEach(async () => {
  await withoutGuards(owner, 'truncate abstentions, ledger, ledger_outbox, reservations', [])
})

/** Settles as the real one does in Postgres, and counts how often it was the one to do it. */
function sweepDeps(): { readonly deps: SweepDeps; readonly settled: string[] } {
  const settled: string[] = []
  const refundOverdue = async (id: string): Promise<'refunded' | 'gone'> => {
    const { rowCount } = await service.query(
      "update reservations set state = 'refunded', finished_at = clock_timestamp(), outcome = '{}' " +
        "where id = $1 and state = 'open'",
      [id],
    )
    if (rowCount !== 1) return 'gone'
    settled.push(id)
    return 'refunded'
  }
  const counters = { nowMs: async () => Date.now() }
  return { deps: { database: service, settlement: { refundOverdue }, counters, log }, settled }
}

describe('the sweeper', () => {
  test('settles every reservation that is open past its hard deadline, and no other', async () => {
    const overdue = await insertReservations(owner, 3, { state: 'open', deadlineAgoMs: 1_000 })
    await insertReservations(owner, 2, { state: 'open', deadlineAgoMs: -20_000 })
    const { deps, settled } = sweepDeps()
    expect(await sweep(deps)).toMatchObject({ settled: 3 })
    expect(settled.toSorted()).toEqual(overdue.toSorted())
  })

  test('appends what a lost job left behind once it is old enough to be lost', async () => {
    const lost = await insertReservations(owner, 4, { finishedAgoMs: QUEUE_BOUNDS.ledgerJobLostAfterMs + 1_000 })
    await insertReservations(owner, 4, { finishedAgoMs: 0 })
    expect(await sweep(sweepDeps().deps)).toMatchObject({ appended: 4 })
    expect(await ledgerIds(owner)).toEqual(lost.toSorted())
  })

  test('does nothing twice when sweeps overlap or repeat', async () => {
    const overdue = await insertReservations(owner, 20, { state: 'open', deadlineAgoMs: 1_000 })
    const lost = await insertReservations(owner, 20, { finishedAgoMs: QUEUE_BOUNDS.ledgerJobLostAfterMs * 2 })
    const { deps, settled } = sweepDeps()
    await Promise.all([sweep(deps), sweep(deps), sweep(deps)])
    await sweep(deps)
    expect(settled.toSorted()).toEqual(overdue.toSorted())
    expect(await ledgerIds(owner)).toEqual([...overdue, ...lost].toSorted())
  })

  test('goes on when one reservation cannot be settled', async () => {
    const [stuck = ''] = await insertReservations(owner, 1, { state: 'open', deadlineAgoMs: 5_000 })
    await insertReservations(owner, 1, { state: 'open', deadlineAgoMs: 1_000 })
    const { deps } = sweepDeps()
    const refundOverdue: SweepDeps['settlement']['refundOverdue'] = (id) =>
      id === stuck ? Promise.reject(new Error('the limit store is away')) : deps.settlement.refundOverdue(id)
    expect(await sweep({ ...deps, settlement: { refundOverdue } })).toMatchObject({ settled: 1 })
    expect(await sweep(deps)).toMatchObject({ settled: 1 })
  })

  test('leaves every admitted request with exactly one entry in the end', async () => {
    await insertReservations(owner, 30, { finishedAgoMs: QUEUE_BOUNDS.ledgerJobLostAfterMs * 3 })
    await insertReservations(owner, 10, { state: 'open', deadlineAgoMs: 1_000 })
    await sweep(sweepDeps().deps)
    await owner.query("update ledger_outbox set added_at = now() - interval '1 minute'")
    await sweep(sweepDeps().deps)
    const { rows } = await owner.query<{ reservations: number; entries: number }>(
      'select (select count(*)::int from reservations) as reservations, (select count(*)::int from ledger) as entries',
    )
    expect(rows).toEqual([{ reservations: 40, entries: 40 }])
  })
})

describe('the outbox', () => {
  test('is emptied batch by batch, whatever lies between its rows', async () => {
    const ids = await insertReservations(owner, JOB_BOUNDS.sweepBatchMax * 2 + 1, {
      finishedAgoMs: QUEUE_BOUNDS.ledgerJobLostAfterMs * 2,
    })
    expect(await sweep(sweepDeps().deps)).toMatchObject({ appended: ids.length })
    expect((await owner.query('select from ledger_outbox')).rowCount).toBe(0)
  })

  test('a clock of Postgres that jumps, ahead or back, loses no entry', async () => {
    const ahead = await insertReservations(owner, 2, { finishedAgoMs: -3_600_000 })
    const back = await insertReservations(owner, 2, { finishedAgoMs: 3_600_000 })
    await sweep(sweepDeps().deps)
    expect(await ledgerIds(owner)).toEqual([...ahead, ...back].toSorted())
  })

  test('a settlement that commits long after its statement is still found', async () => {
    const [late = ''] = await insertReservations(owner, 1, { state: 'open', deadlineAgoMs: -20_000 })
    const client = await owner.connect()
    await client.query('begin')
    await client.query(
      "update reservations set state = 'failed', finished_at = now() - interval '1 hour', outcome = '{}' where id = $1",
      [late],
    )
    await sweep(sweepDeps().deps)
    await client.query('commit')
    client.release()
    await owner.query("update ledger_outbox set added_at = now() - interval '1 hour'")
    await sweep(sweepDeps().deps)
    expect(await ledgerIds(owner)).toEqual([late])
  })
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

/** Gives reservations a key, and an admission so many days ago. */
async function withKey(ids: readonly string[], daysAgo: number): Promise<void> {
  for (const id of ids)
    await withoutGuards(
      owner,
      'update reservations set idempotency_digest = $2, request_digest = $2, admitted_at = now() - make_interval(days => $3) where id = $1',
      [id, randomBytes(32), daysAgo],
    )
}

async function keyed(): Promise<readonly string[]> {
  const { rows } = await owner.query<{ id: string }>('select id from reservations where idempotency_digest is not null')
  return rows.map(({ id }) => id).toSorted()
}

test('an Idempotency-Key is forgotten after 30 days, but never of a request that is open or not in the ledger', async () => {
  const [old, young] = [await insertReservations(owner, 3), await insertReservations(owner, 2)]
  const open = await insertReservations(owner, 2, { state: 'open', deadlineAgoMs: -1_000 })
  const unbilled = await insertReservations(owner, 2)
  await owner.query('delete from ledger_outbox where not reservation_id = any($1)', [unbilled])
  await withKey([...old, ...open, ...unbilled], 31)
  await withKey(young, 29)
  expect(await forgetOld({ database: service, log })).toEqual({ idempotency_keys: 3 })
  expect(await keyed()).toEqual([...young, ...open, ...unbilled].toSorted())
  expect(await forgetOld({ database: service, log })).toEqual({})
})

test('no role forgets a key before its time, or changes anything else with it', async () => {
  const [id = ''] = await insertReservations(owner, 1)
  await owner.query('delete from ledger_outbox where reservation_id = $1', [id])
  await withKey([id], 29)
  const forget = 'update reservations set idempotency_digest = null, request_digest = null where id = $1'
  await expect(owner.query(forget, [id])).rejects.toThrow('does not change')
  await withKey([id], 31)
  await expect(owner.query(forget.replace('set', "set outcome = '{}',"), [id])).rejects.toThrow('does not change')
  await owner.query(forget, [id])
})
