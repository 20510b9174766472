import { setTimeout as sleep } from 'node:timers/promises'
import type { LimitFunction } from 'p-limit'
import { withRebuildLock, moveEpoch, readEpoch, type LimitEpoch } from '#core/db/limit-epochs.ts'
import type { Database } from '#core/db/pool.ts'
import { countRequests, longestExposureWindowDays, readServed } from '#core/db/reservation-counts.ts'
import { RestoredError, lacks } from '#core/db/restores.ts'
import { findOverdue } from '#core/db/reservations.ts'
import { LIMIT_BOUNDS } from '#core/limits/bounds.ts'
import { publicRequestId } from '#core/platform/ids.ts'
import type { Log } from '#core/platform/log.ts'
import { DAY_MS } from '#core/platform/time.ts'
import type { Counters } from './counters.ts'
import type { Settlement } from './settlement.ts'

export interface RebuildDeps {
  /** Connections of its own with a long statement time-out: two for each rebuild that runs. */
  readonly database: Database
  /** Bounds the rebuilds of this gateway at a time. */
  readonly limited: LimitFunction
  readonly counters: Counters
  readonly settlement: Pick<Settlement, 'refundOverdue'>
  readonly log: Log
}

/** What was found wrong, so that a fault that another gateway has repaired is not repaired again. */
export interface Fault {
  /** The epoch under which the fault was seen; undefined where there was none. */
  readonly epoch: LimitEpoch | undefined
  /** A lease was overdue: the counters of the epoch are wrong although it is in force. */
  readonly overdue: boolean
  /** Exposure window that must be counted at least. */
  readonly windowDays: number
}

/**
 * Counts the limits of an organization anew from its reservations, under a new epoch:
 *
 * 1. The old epoch goes out of force in Redis: nothing is admitted or settled there.
 * 2. Overdue reservations are settled.
 * 3. Postgres gets the new epoch. From here on no reservation under an older one can be written.
 * 4. Everything is counted and written to Redis under the new epoch.
 * 5. The new epoch comes into force.
 *
 * One gateway at a time does this for an organization; others wait for its result. If it dies, another begins anew.
 * @throws where Redis or Postgres fails, or after `rebuildTimeoutMs`.
 */
export async function rebuildCounters(deps: RebuildDeps, organizationId: string, fault: Fault): Promise<LimitEpoch> {
  const endsAtMs = performance.now() + LIMIT_BOUNDS.rebuildTimeoutMs
  while (performance.now() < endsAtMs) {
    const epoch = await deps.limited(() =>
      withRebuildLock(deps.database, organizationId, async () => {
        const runId = deps.counters.runId()
        if (runId === undefined) throw new Error('the limit store is not connected')
        return (await repaired(deps, organizationId, fault, runId)) ?? countAnew(deps, organizationId, fault, runId)
      }),
    )
    if (epoch !== undefined) return epoch
    // Another gateway rebuilds these counters. Meanwhile the slot is free for other organizations.
    await sleep(LIMIT_BOUNDS.rebuildPollMs)
  }
  throw new Error('another gateway rebuilds the limit counters')
}

/**
 * An epoch that Postgres names may not have been in force yet when the fault was seen, and may be so now.
 * @returns the epoch in force in which the fault is repaired.
 */
async function repaired(
  { database, counters }: RebuildDeps,
  organizationId: string,
  fault: Fault,
  runId: string,
): Promise<LimitEpoch | undefined> {
  const current = await readEpoch(database, organizationId)
  if (current === undefined || current.redisRunId !== runId) return undefined
  if (fault.overdue && current.id === fault.epoch?.id) return undefined
  const inForce = await counters.inForce(organizationId)
  return inForce?.epoch === current.id && inForce.windowMs >= fault.windowDays * DAY_MS ? current : undefined
}

async function countAnew(
  { database, counters, settlement, log }: RebuildDeps,
  organizationId: string,
  fault: Fault,
  runId: string,
): Promise<LimitEpoch> {
  const beganMs = performance.now()
  // The counters say what a restore lost, and are the last that know.
  if (await lacks(database, await counters.confirmed())) throw new RestoredError()
  await counters.retire(organizationId)
  const nowMs = await counters.nowMs()
  for (const { id, ...about } of await findOverdue(database, nowMs, organizationId, LIMIT_BOUNDS.rebuildOverdueMax))
    // One that cannot be settled now is counted as open. Its lease is overdue, so the next admission tries again.
    await settlement.refundOverdue(id, 'postgres only').catch((error: unknown) => {
      log.warn('reservation could not be settled', { request_id: publicRequestId(id), ...about }, error)
    })
  const epoch = await moveEpoch(database, organizationId, runId)
  const { installer } = counters
  await installer.begin(organizationId, epoch.id)
  const { counts, admitted } = await countRequests(database, organizationId, nowMs)
  await installer.requests(organizationId, epoch.id, counts, admitted)
  const windowDays = Math.max(fault.windowDays, await longestExposureWindowDays(database, organizationId))
  const windowMs = windowDays * DAY_MS
  let passages = 0
  await readServed(database, organizationId, { nowMs, windowDays }, async (batch) => {
    passages += batch.length
    await installer.passages(organizationId, epoch.id, windowMs, batch)
  })
  // Another gateway has taken over if the connection that holds the lock was lost.
  if ((await readEpoch(database, organizationId))?.id !== epoch.id) throw new Error('another rebuild has taken over')
  await installer.enforce(organizationId, epoch.id, windowMs)
  counters.discardOthers(organizationId, epoch.id).catch((error: unknown) => {
    log.warn('limit counters of earlier epochs are left to expire', { organization_id: organizationId }, error)
  })
  log.info('limit counters rebuilt', {
    organization_id: organizationId,
    epoch: epoch.id,
    passages,
    ms: Math.round(performance.now() - beganMs),
  })
  return epoch
}
