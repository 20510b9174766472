import { LRUCache } from 'lru-cache'
import pLimit from 'p-limit'
import { readEpoch, type LimitEpoch } from '#core/db/limit-epochs.ts'
import type { Database } from '#core/db/pool.ts'
import { LIMIT_BOUNDS } from '#core/limits/bounds.ts'
import type { Log } from '#core/platform/log.ts'
import { withTimeout } from '#core/platform/with-timeout.ts'
import { rebuildCounters, type Fault, type RebuildDeps } from './rebuild.ts'

/** The epoch of each organization's counters, as one gateway knows it. */
export type LimitEpochs = ReturnType<typeof createLimitEpochs>

export function createLimitEpochs(
  deps: Omit<RebuildDeps, 'limited'> & { readonly reads: Database; readonly log: Log },
) {
  const known = new LRUCache<string, LimitEpoch>({
    max: LIMIT_BOUNDS.epochsRememberedMax,
    ttl: LIMIT_BOUNDS.limitEpochCacheMs,
  })
  const rebuilding = new Map<string, Promise<LimitEpoch>>()
  const limited = pLimit(LIMIT_BOUNDS.rebuildsAtOnce)

  async function rebuild(organizationId: string, fault: Fault): Promise<LimitEpoch> {
    try {
      const beganMs = performance.now()
      const epoch = await rebuildCounters({ ...deps, limited }, organizationId, fault)
      known.set(organizationId, epoch, { start: beganMs })
      return epoch
    } catch (error) {
      known.delete(organizationId)
      deps.log.warn('limit counters could not be rebuilt', { organization_id: organizationId }, error)
      throw error
    } finally {
      rebuilding.delete(organizationId)
    }
  }

  async function repair(organizationId: string, fault: Fault): Promise<LimitEpoch> {
    const running = rebuilding.get(organizationId) ?? rebuild(organizationId, fault)
    rebuilding.set(organizationId, running)
    return withTimeout(LIMIT_BOUNDS.rebuildWaitMs, 'the limit counters are being rebuilt', running)
  }

  return {
    /**
     * Returns an epoch in which the fault is repaired. Concurrent calls share one rebuild.
     * @throws after `rebuildWaitMs`; the rebuild goes on for the requests to come.
     */
    repair,
    /**
     * Returns the epoch to charge under, read from Postgres within the last `limitEpochCacheMs`. Rebuilds the counters
     * first if they were written to another Redis process.
     */
    async current(organizationId: string, windowDays: number): Promise<LimitEpoch> {
      let epoch = known.get(organizationId)
      if (epoch === undefined) {
        const beganMs = performance.now()
        epoch = await readEpoch(deps.reads, organizationId)
        known.set(organizationId, epoch, { start: beganMs })
      }
      return epoch !== undefined && epoch.redisRunId === deps.counters.runId()
        ? epoch
        : repair(organizationId, { epoch, windowDays, overdue: false })
    },
  }
}
