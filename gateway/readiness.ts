import { activeVersions } from '#core/db/versions.ts'
import { assertSchemaCompatible } from '#core/db/schema.ts'
import type { Database } from '#core/db/pool.ts'
import type { Counters } from '#core/limits/counters.ts'
import { OperatorError } from '#core/platform/errors.ts'
import type { Log } from '#core/platform/log.ts'
import { GATEWAY_BOUNDS } from './bounds.ts'
import { startDependencyMonitor, type DependencyStates } from './dependencies.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { SearchTier } from './search-tier.ts'

export interface ReadinessDeps {
  readonly database: Database
  readonly counters: Counters
  readonly searchTier: SearchTier
  readonly lifecycle: Lifecycle
  readonly log: Log
}

/**
 * Readiness is local: the schema fits, every dependency was reached once, and the gateway is not stopping. A shared
 * dependency that fails later changes only `dependencies`, because all gateways would leave at once otherwise.
 */
export interface Readiness {
  /** Reasons against readiness, from memory; empty: ready. */
  faults(): readonly string[]
  dependencies(): DependencyStates
  stop(): void
}

export function startReadiness({ database, counters, searchTier, lifecycle, log }: ReadinessDeps): Readiness {
  const startedMs = performance.now()
  let answerable = false
  let schemaFault: string | undefined
  const monitor = startDependencyMonitor(
    {
      postgres: async () => {
        schemaFault = await schemaFaultOf(database)
        return undefined
      },
      redis: async () => {
        const fault = counters.fault()
        if (fault === undefined) await counters.ping()
        return fault
      },
      search: async () => {
        if (!(await searchTier.isReachable(GATEWAY_BOUNDS.dependencyCheckTimeoutMs))) return 'no search node answers'
        answerable ||= await isAnswerable(database, searchTier, startedMs)
        return answerable ? undefined : 'an active version is on no search node yet'
      },
    },
    log,
  )
  return {
    faults: () => {
      if (lifecycle.phase() !== 'serving') return ['stopping']
      const unreached = monitor.neverReached().map((name) => `${name} was not reached since the start`)
      return schemaFault === undefined ? unreached : [schemaFault, ...unreached]
    },
    dependencies: () => monitor.states(),
    stop: () => monitor.stop(),
  }
}

/** Whether each active version can be searched, or was awaited long enough: readiness stays local from then on. */
async function isAnswerable(database: Database, searchTier: SearchTier, startedMs: number): Promise<boolean> {
  if (performance.now() - startedMs > GATEWAY_BOUNDS.versionsAwaitedMs) return true
  const active = await activeVersions(database).catch(() => undefined)
  return active?.every((versionId) => searchTier.holds(versionId)) === true
}

/** Undefined: this code can serve on the schema. */
async function schemaFaultOf(database: Database): Promise<string | undefined> {
  try {
    await assertSchemaCompatible(database)
    return undefined
  } catch (error) {
    if (error instanceof OperatorError) return error.message
    throw error
  }
}
