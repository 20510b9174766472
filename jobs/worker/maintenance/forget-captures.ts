import { forgetCaptures } from '#core/db/sources.ts'
import type { Database } from '#core/db/pool.ts'
import type { Log } from '#core/platform/log.ts'
import { JOB_BOUNDS } from '#jobs/platform/bounds.ts'

/** Forgets old captures that found nothing new, a batch a run: a short schedule makes many of them. */
export async function forgetOldCaptures({
  database,
  log,
}: {
  readonly database: Database
  readonly log: Log
}): Promise<number> {
  const forgotten = await forgetCaptures(database, JOB_BOUNDS.capturesKeptDays, JOB_BOUNDS.capturesForgottenMax)
  if (forgotten > 0) log.info('captures forgotten', { forgotten })
  return forgotten
}
