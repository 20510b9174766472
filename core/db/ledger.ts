import { z } from 'zod'
import type { Queryable } from './pool.ts'
import { ids } from './rows.ts'

/** The function of the schema copies reservations that are settled and have no entry. */
const APPEND = 'select append_ledger($1::uuid[]) as appended'

/** A repeated or concurrent append adds nothing. @returns the number of new entries. */
export async function appendLedgerEntries(database: Queryable, reservationIds: readonly string[]): Promise<number> {
  const { rows } = await database.query({ name: 'append-ledger', text: APPEND, values: [reservationIds] })
  return z.object({ appended: z.number() }).parse(rows[0]).appended
}

/**
 * Settled reservations without an entry, added to the outbox at least `$1` ms ago. A row from the future, after the
 * clock was set back, is due as well. Reservations whose ledger job was lost.
 */
export const ledgerEntriesDue = ids<[olderThanMs: number, limit: number]>`
  select reservation_id as id from ledger_outbox
  where added_at not between clock_timestamp() - make_interval(secs => $1::float8 / 1000) and clock_timestamp()
  limit $2`
