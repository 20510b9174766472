import { QUEUE_BOUNDS } from '#core/queues/bounds.ts'
import { appendLedgerEntries, ledgerEntriesDue } from '#core/db/ledger.ts'
import type { Database } from '#core/db/pool.ts'
import { findOverdue } from '#core/db/reservations.ts'
import type { Counters } from '#core/limits/counters.ts'
import type { Settlement } from '#core/limits/settlement.ts'
import { publicRequestId } from '#core/platform/ids.ts'
import type { Log } from '#core/platform/log.ts'
import { JOB_BOUNDS } from '#jobs/platform/bounds.ts'

export interface SweepDeps {
  readonly database: Database
  readonly settlement: Pick<Settlement, 'refundOverdue'>
  /** Deadlines are judged by the clock of Redis. */
  readonly counters: Pick<Counters, 'nowMs'>
  readonly log: Log
}

/**
 * Settles a batch of overdue reservations. Then appends ledger entries whose job was lost, in batches until none is due
 * or the next sweep begins. Every step may be repeated or run concurrently: only an open reservation is settled, and an
 * entry exists once.
 */
export async function sweep(deps: SweepDeps) {
  const endsAtMs = performance.now() + JOB_BOUNDS.sweepEveryMs
  const settled = await settleOverdue(deps)
  let appended = settled.length === 0 ? 0 : await appendLedgerEntries(deps.database, settled)
  for (;;) {
    const lost = await ledgerEntriesDue(deps.database, QUEUE_BOUNDS.ledgerJobLostAfterMs, JOB_BOUNDS.sweepBatchMax)
    if (lost.length > 0) appended += await appendLedgerEntries(deps.database, lost)
    if (lost.length < JOB_BOUNDS.sweepBatchMax || performance.now() > endsAtMs) break
  }
  if (settled.length + appended > 0) deps.log.info('swept', { settled: settled.length, appended })
  return { settled: settled.length, appended }
}

/** A reservation that cannot be settled now stays open for the next sweep and does not block the others. */
async function settleOverdue({ database, settlement, counters, log }: SweepDeps): Promise<readonly string[]> {
  const settled: string[] = []
  const overdue = await findOverdue(database, await counters.nowMs(), null, JOB_BOUNDS.sweepBatchMax)
  for (const { id, ...about } of overdue) {
    const fields = { request_id: publicRequestId(id), ...about }
    try {
      const state = await settlement.refundOverdue(id)
      if (state === 'gone') continue
      settled.push(id)
      log.info('overdue request settled', { ...fields, state })
    } catch (error) {
      log.warn('reservation could not be settled', fields, error)
    }
  }
  return settled
}
