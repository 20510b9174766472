import { readEpoch } from '#core/db/limit-epochs.ts'
import type { LimitEpoch } from '#core/db/limit-epochs.ts'
import type { Database } from '#core/db/pool.ts'
import { BOUNDS } from '#core/platform/bounds.ts'
import type { Log } from '#core/platform/log.ts'
import { within } from '#core/platform/within.ts'
import { rebuildCounters } from './rebuild.ts'
import type { Fault, RebuildDeps } from './rebuild.ts'

/** The epoch of each organization's counters, as one gateway knows it. */
export interface LimitEpochs {
  /**
   * Returns the epoch to charge under, read from Postgres within the last `limitEpochCacheMs`. Rebuilds the counters
   * first if they were written to another Redis process.
   */
  current(organizationId: string, windowDays: number): Promise<LimitEpoch>
  /**
   * Returns an epoch in which the fault is repaired. Concurrent calls share one rebuild.
   * @throws after `rebuildWaitMs`; the rebuild goes on for the requests to come.
   */
  repair(organizationId: string, fault: Fault): Promise<LimitEpoch>
}

interface Known {
  readonly epoch: LimitEpoch | undefined
  readonly readAtMs: number
}

export function createLimitEpochs(
  deps: Omit<RebuildDeps, 'slot'> & { readonly reads: Database; readonly log: Log },
): LimitEpochs {
  const known = new Map<string, Known>()
  const rebuilding = new Map<string, Promise<LimitEpoch>>()
  const slot = createSlots(BOUNDS.rebuildsAtOnce)

  function remember(organizationId: string, epoch: LimitEpoch | undefined, readAtMs: number): void {
    if (known.size >= BOUNDS.epochsRememberedMax) known.clear()
    known.set(organizationId, { epoch, readAtMs })
  }

  async function rebuild(organizationId: string, fault: Fault): Promise<LimitEpoch> {
    try {
      const readAtMs = performance.now()
      const epoch = await rebuildCounters({ ...deps, slot }, organizationId, fault)
      remember(organizationId, epoch, readAtMs)
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
    return within(BOUNDS.rebuildWaitMs, 'the limit counters are being rebuilt', running)
  }

  return {
    repair,
    current: async (organizationId, windowDays) => {
      let last = known.get(organizationId)
      if (last === undefined || performance.now() - last.readAtMs >= BOUNDS.limitEpochCacheMs) {
        const readAtMs = performance.now()
        last = { epoch: await readEpoch(deps.reads, organizationId), readAtMs }
        remember(organizationId, last.epoch, readAtMs)
      }
      const { epoch } = last
      return epoch !== undefined && epoch.redisRunId === deps.counters.runId()
        ? epoch
        : repair(organizationId, { epoch, windowDays })
    },
  }
}

/** At most `count` holders at once; the others wait in order. */
function createSlots(count: number): () => Promise<() => void> {
  const waiting: (() => void)[] = []
  let left = count
  const release = (): void => {
    const next = waiting.shift()
    if (next === undefined) left++
    else next()
  }
  return async () => {
    if (left > 0) left--
    else await new Promise<void>((resolve) => waiting.push(resolve))
    return release
  }
}
