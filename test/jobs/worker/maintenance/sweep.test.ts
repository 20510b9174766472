import { QUEUE_BOUNDS } from '#core/queues/bounds.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { createLog } from '#core/platform/log.ts'
import { JOB_BOUNDS } from '#jobs/platform/bounds.ts'
import { sweep } from '#jobs/worker/maintenance/sweep.ts'
import type { SweepDeps } from '#jobs/worker/maintenance/sweep.ts'
import { insertReservations, ledgerIds } from '#test/support/limits.ts'
import { openTestPools } from '#test/support/postgres.ts'

const log = createLog('test', 'silent')
const { owner, jobs: service } = await openTestPools()
beforeEach(async () => {
  await owner.query('truncate ledger, ledger_outbox, reservations')
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
