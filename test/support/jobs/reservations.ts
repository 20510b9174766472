import { randomBytes, randomUUID } from 'node:crypto'
import type { Queryable } from '#core/db/pool.ts'

export interface TestReservation {
  readonly state?: 'open' | 'delivered' | 'refunded' | 'failed'
  /** Before now. */
  readonly deadlineAgoMs?: number
  readonly finishedAgoMs?: number
}

const INSERT = `
insert into reservations (id, trace_id, organization_id, client_id, environment, api_key_id, entitlement_id, plan_id,
  knowledge_base_id, version_id, fingerprint, fingerprint_epoch, admitted_at, deadline_at, in_force_on,
  filters)
select id, gen_random_uuid(), $2, $2, 'test', $2, $2, $2, $2, $2, $3, 1,
  now() - make_interval(secs => ($4 + 20000) / 1000.0), now() - make_interval(secs => $4 / 1000.0), current_date, '{}'
from unnest($1::uuid[]) as ids (id)`
const SETTLE = `
update reservations set state = $2, finished_at = now() - make_interval(secs => $3 / 1000.0),
  outcome = '{"result_count": 5}', served = case when $2 = 'delivered' then '[]'::jsonb end
where id = any($1)`
const AGE_OUTBOX =
  'update ledger_outbox set added_at = now() - make_interval(secs => $2 / 1000.0) where reservation_id = any($1)'

/** Reservations as a gateway leaves them, `count` alike. @returns their ids. */
export async function insertReservations(
  database: Queryable,
  count: number,
  { state = 'delivered', deadlineAgoMs = 0, finishedAgoMs = 0 }: TestReservation = {},
): Promise<readonly string[]> {
  const ids = Array.from({ length: count }, () => randomUUID())
  await database.query(INSERT, [ids, randomUUID(), randomBytes(32), deadlineAgoMs])
  if (state !== 'open') {
    await database.query(SETTLE, [ids, state, finishedAgoMs])
    await database.query(AGE_OUTBOX, [ids, finishedAgoMs])
  }
  return ids
}

export async function ledgerIds(database: Queryable): Promise<readonly string[]> {
  const { rows } = await database.query<{ reservation_id: string }>(
    'select reservation_id from ledger order by reservation_id',
  )
  return rows.map((row) => row.reservation_id)
}
