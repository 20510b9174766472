import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { BOUNDS } from '#core/platform/bounds.ts'
import { openDatabase } from '#core/db/pool.ts'
import type { Database } from '#core/db/pool.ts'
import { createLog } from '#core/platform/log.ts'
import { sweep } from '#jobs/maintenance/sweep.ts'
import type { SweepDeps } from '#jobs/maintenance/sweep.ts'
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
  await owner.query("truncate ledger, reservations; update ledger_watermark set complete_until = '-infinity'")
})

/** Settles as the real one does in Postgres, and counts how often it was the one to do it. */
function sweepDeps(): { readonly deps: SweepDeps; readonly settled: string[] } {
  const settled: string[] = []
  const settle = async (id: string): Promise<'refunded' | 'not-open'> => {
    const { rowCount } = await service.query(
      "update reservations set state = 'refunded', finished_at = clock_timestamp(), outcome = '{}' " +
        "where id = $1 and state = 'open'",
      [id],
    )
    if (rowCount !== 1) return 'not-open'
    settled.push(id)
    return 'refunded'
  }
  return { deps: { database: service, settle, log }, settled }
}

async function watermark(): Promise<Date | number> {
  const { rows } = await owner.query<{ complete_until: Date | number }>('select complete_until from ledger_watermark')
  return rows[0]?.complete_until ?? 0
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
    const lost = await insertReservations(owner, 4, { finishedAgoMs: BOUNDS.ledgerJobLostAfterMs + 1_000 })
    await insertReservations(owner, 4, { finishedAgoMs: 0 })
    expect(await sweep(sweepDeps().deps)).toMatchObject({ appended: 4 })
    expect(await ledgerIds(owner)).toEqual(lost.toSorted())
  })

  test('does nothing twice when sweeps overlap or repeat', async () => {
    const overdue = await insertReservations(owner, 20, { state: 'open', deadlineAgoMs: 1_000 })
    const lost = await insertReservations(owner, 20, { finishedAgoMs: BOUNDS.ledgerJobLostAfterMs * 2 })
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
    const settle: SweepDeps['settle'] = (id) =>
      id === stuck ? Promise.reject(new Error('the limit store is away')) : deps.settle(id)
    expect(await sweep({ ...deps, settle })).toMatchObject({ settled: 1 })
    expect(await sweep(deps)).toMatchObject({ settled: 1 })
  })

  test('leaves every admitted request with exactly one entry in the end', async () => {
    await insertReservations(owner, 30, { finishedAgoMs: BOUNDS.ledgerJobLostAfterMs * 3 })
    const open = await insertReservations(owner, 10, { state: 'open', deadlineAgoMs: 1_000 })
    await sweep(sweepDeps().deps)
    await owner.query("update reservations set finished_at = now() - interval '1 minute' where id = any($1)", [open])
    await sweep(sweepDeps().deps)
    const { rows } = await owner.query<{ reservations: number; entries: number }>(
      'select (select count(*)::int from reservations) as reservations, (select count(*)::int from ledger) as entries',
    )
    expect(rows).toEqual([{ reservations: 40, entries: 40 }])
  })
})

describe('the watermark', () => {
  test('never passes a finished reservation that has no entry', async () => {
    await insertReservations(owner, BOUNDS.sweepBatchMax + 1, { finishedAgoMs: BOUNDS.ledgerWatermarkTrailMs * 2 })
    await sweep(sweepDeps().deps)
    expect(await watermark()).toBe(Number.NEGATIVE_INFINITY)
    expect(await sweep(sweepDeps().deps)).toMatchObject({ appended: 1 })
    expect(await watermark()).toBeInstanceOf(Date)
    expect((await ledgerIds(owner)).length).toBe(BOUNDS.sweepBatchMax + 1)
  })

  test('trails by more than a transaction can last, so one that commits late is still found', async () => {
    await sweep(sweepDeps().deps)
    const late = await insertReservations(owner, 1, { finishedAgoMs: BOUNDS.ledgerWatermarkTrailMs - 5_000 })
    expect(await sweep(sweepDeps().deps)).toMatchObject({ appended: 1 })
    expect(await ledgerIds(owner)).toEqual(late)
  })
})
