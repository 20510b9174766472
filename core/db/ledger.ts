import { z } from 'zod'
import { ids, valueOf } from './rows.ts'

/**
 * The function of the schema copies reservations that are settled and have no entry. A repeated or concurrent append
 * adds nothing. @returns the number of new entries.
 */
export const appendLedgerEntries = valueOf(z.number(), 'append-ledger')<[reservationIds: readonly string[]]>`
  select append_ledger($1::uuid[])`

/**
 * Settled reservations without an entry, added to the outbox at least `$1` ms ago. A row from the future, after the
 * clock was set back, is due as well. Reservations whose ledger job was lost.
 */
export const ledgerEntriesDue = ids<[olderThanMs: number, limit: number]>`
  select reservation_id as id from ledger_outbox
  where added_at not between clock_timestamp() - make_interval(secs => $1::float8 / 1000) and clock_timestamp()
  limit $2`
