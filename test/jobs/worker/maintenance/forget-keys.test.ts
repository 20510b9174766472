import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { createLog } from '#core/platform/log.ts'
import { forgetKeys } from '#jobs/worker/workers.ts'
import { insertReservations } from '#test/support/limits.ts'
import { openTestPools, withoutGuards } from '#test/support/postgres.ts'

const log = createLog('test', 'silent')
const { owner, jobs } = await openTestPools()

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
  expect(await forgetKeys({ database: jobs, log })).toBe(3)
  expect(await keyed()).toEqual([...young, ...open, ...unbilled].toSorted())
  expect(await forgetKeys({ database: jobs, log })).toBe(0)
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
