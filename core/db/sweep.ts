import { z } from 'zod'
import type { Queryable } from './pool.ts'

const idRows = z.array(z.object({ id: z.uuid() }))

/** Only reservations that finished after the watermark are read, so the cost does not grow with the ledger. */
const MISSING = `
select r.id
from reservations r
cross join ledger_watermark w
where r.state <> 'open' and r.finished_at > w.complete_until
  and r.finished_at < now() - make_interval(secs => $1 / 1000.0)
  and not exists (select from ledger l where l.reservation_id = r.id)
order by r.finished_at
limit $2`

/** Finished reservations, at least `olderThanMs` old, whose ledger job was lost. */
export async function reservationsWithoutEntry(
  database: Queryable,
  olderThanMs: number,
  limit: number,
): Promise<readonly string[]> {
  const { rows } = await database.query(MISSING, [olderThanMs, limit])
  return idRows.parse(rows).map((row) => row.id)
}

/** Never moves back, and never past a finished reservation without an entry, even with concurrent sweeps. */
const MOVE_WATERMARK = `
update ledger_watermark w set complete_until = now() - make_interval(secs => $1 / 1000.0)
where w.complete_until < now() - make_interval(secs => $1 / 1000.0)
  and not exists (
    select from reservations r
    where r.state <> 'open' and r.finished_at > w.complete_until
    and r.finished_at <= now() - make_interval(secs => $1 / 1000.0)
      and not exists (select from ledger l where l.reservation_id = r.id)
  )`

/**
 * `trailMs` must exceed the longest transaction that finishes a reservation: it may commit later than its
 * `finished_at`.
 */
export async function moveWatermark(database: Queryable, trailMs: number): Promise<void> {
  await database.query(MOVE_WATERMARK, [trailMs])
}
