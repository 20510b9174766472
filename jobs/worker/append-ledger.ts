import { z } from 'zod'
import { appendLedgerEntries } from '#core/db/ledger.ts'
import type { Queryable } from '#core/db/pool.ts'
import { QUEUE_BOUNDS } from '#core/queues/bounds.ts'

/** Nothing but ids; the rows are read from Postgres. */
const payloadSchema = z.strictObject({ ids: z.array(z.uuid()).max(QUEUE_BOUNDS.ledgerBatchMax) })

/** Appends the ledger entries of settled reservations. Entries that exist, and open reservations, are left alone. */
export async function processLedgerJob(database: Queryable, payload: unknown): Promise<void> {
  await appendLedgerEntries(database, payloadSchema.parse(payload).ids)
}
