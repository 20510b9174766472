import type { Database } from '#core/db/pool.ts'
import { forgetIdempotencyKeys } from '#core/db/requests.ts'
import type { Log } from '#core/platform/log.ts'
import { JOB_BOUNDS } from '#jobs/platform/bounds.ts'

/**
 * Forgets Idempotency-Keys past the time for which they are held, in batches until none is due or the next run begins.
 * A reserved request and one without a ledger entry keep theirs. Runs may repeat or overlap.
 * @returns how many were forgotten.
 */
export async function forgetKeys({
  database,
  log,
}: {
  readonly database: Database
  readonly log: Log
}): Promise<number> {
  const endsAtMs = performance.now() + JOB_BOUNDS.garbageCollectionEveryMs
  let forgotten = 0
  for (;;) {
    const batch = await forgetIdempotencyKeys(database, JOB_BOUNDS.idempotencyKeptDays, JOB_BOUNDS.idempotencyBatchMax)
    forgotten += batch
    if (batch < JOB_BOUNDS.idempotencyBatchMax || performance.now() > endsAtMs) break
  }
  if (forgotten > 0) log.info('idempotency keys forgotten', { forgotten })
  return forgotten
}
