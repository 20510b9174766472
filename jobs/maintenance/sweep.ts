import { BOUNDS } from '#core/platform/bounds.ts'
import { appendLedgerEntries } from '#core/db/ledger.ts'
import type { Database } from '#core/db/pool.ts'
import { findOpenPastDeadline } from '#core/db/reservations.ts'
import { moveWatermark, reservationsWithoutEntry } from '#core/db/sweep.ts'
import type { Log } from '#core/platform/log.ts'

export interface SweepDeps {
  readonly database: Database
  /** Settles a reservation that delivered nothing. */
  readonly settle: (reservationId: string) => Promise<'refunded' | 'failed' | 'not-open'>
  readonly log: Log
}

export interface Swept {
  readonly settled: number
  readonly appended: number
}

/**
 * Settles overdue reservations and appends missing ledger entries, one bounded batch at a time. Every step may be
 * repeated or run concurrently: only an open reservation is settled, and an entry exists once.
 */
export async function sweep(deps: SweepDeps): Promise<Swept> {
  const settled = await settleOverdue(deps)
  const lost = await reservationsWithoutEntry(deps.database, BOUNDS.ledgerJobLostAfterMs, BOUNDS.sweepBatchMax)
  const due = [...settled, ...lost]
  const appended = due.length === 0 ? 0 : await appendLedgerEntries(deps.database, due)
  if (lost.length < BOUNDS.sweepBatchMax) await moveWatermark(deps.database, BOUNDS.ledgerWatermarkTrailMs)
  if (due.length > 0) deps.log.info('swept', { settled: settled.length, appended })
  return { settled: settled.length, appended }
}

/** A reservation that cannot be settled now stays open for the next sweep and does not block the others. */
async function settleOverdue({ database, settle, log }: SweepDeps): Promise<readonly string[]> {
  const settled: string[] = []
  for (const id of await findOpenPastDeadline(database, BOUNDS.sweepBatchMax)) {
    try {
      if ((await settle(id)) !== 'not-open') settled.push(id)
    } catch (error) {
      log.warn('reservation could not be settled', { request_id: id }, error)
    }
  }
  return settled
}
