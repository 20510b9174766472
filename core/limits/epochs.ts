import { raiseEpoch, readEpoch } from '#core/db/limit-epochs.ts'
import type { Database, Queryable } from '#core/db/pool.ts'
import { readRecentOrOpen, readServedInWindow, readUsed } from '#core/db/reservations.ts'
import { BOUNDS } from '#core/platform/bounds.ts'
import type { Log } from '#core/platform/log.ts'
import { DAY_MS } from '#core/platform/time.ts'
import type { ServedPassage } from '#core/domain/exposure.ts'
import type { PlanLimits } from '#core/domain/quota-plan.ts'
import type { LimitScope } from './counter-keys.ts'
import type { RebuiltCounters } from './install.ts'
import type { Limiter } from './limiter.ts'

/** The epoch of an organization's counters that is in force, and the rebuild of lost or stale counters. */
export interface LimitEpochs {
  /** Returns the epoch to charge under. Rebuilds first if the counters were written to another Redis process. */
  current(organizationId: string): Promise<number>
  /** Makes the next `current` read Postgres again. */
  forget(organizationId?: string): void
  /** Marks a charge as possibly wrong, because its undo or settlement failed. The next `current` rebuilds. */
  invalidate(organizationId: string): void
  /**
   * Ends the lease of a finished request and counts what it served. A rebuild counts what Postgres recorded before it
   * began. If the epoch is no longer in force, the request is settled under the new one.
   */
  settle(scope: LimitScope, requestId: string, limits: PlanLimits, served: readonly ServedPassage[]): Promise<void>
  /** Counts everything from the reservations under a new epoch. Concurrent calls share one rebuild. */
  rebuild(organizationId: string): Promise<number>
}

export function createLimitEpochs(deps: {
  readonly database: Database
  readonly limiter: Limiter
  readonly log: Log
}): LimitEpochs {
  const { database, limiter, log } = deps
  const known = new Map<string, { readonly epoch: number; readonly redisRunId: string }>()
  const invalidated = new Set<string>()
  const rebuilding = new Map<string, Promise<number>>()

  function requireRunId(): string {
    const runId = limiter.runId()
    if (runId === undefined) throw new Error('the limit store is not connected')
    return runId
  }

  async function rebuildNow(organizationId: string): Promise<number> {
    const runId = requireRunId()
    const raised = await raiseEpoch(
      database,
      organizationId,
      runId,
      async (current) => !invalidated.has(organizationId) && (await limiter.isReady(organizationId, current.epoch)),
      async (client, epoch) => {
        await limiter.retire(organizationId)
        await limiter.install(organizationId, epoch, await countFromReservations(client, organizationId, epoch))
      },
    )
    invalidated.delete(organizationId)
    log.info('limit counters rebuilt', { organization_id: organizationId, epoch: raised.epoch })
    if (known.size >= BOUNDS.epochsRememberedMax) known.clear()
    known.set(organizationId, raised)
    return raised.epoch
  }

  function rebuild(organizationId: string): Promise<number> {
    const running =
      rebuilding.get(organizationId) ?? rebuildNow(organizationId).finally(() => rebuilding.delete(organizationId))
    rebuilding.set(organizationId, running)
    return running
  }

  return {
    rebuild,
    settle: async (scope, requestId, limits, served) => {
      if (await limiter.settle(scope, requestId, limits, served)) return
      await limiter.settle({ ...scope, epoch: await rebuild(scope.organizationId) }, requestId, limits, served)
    },
    invalidate: (organizationId) => void invalidated.add(organizationId),
    forget: (organizationId) => (organizationId === undefined ? known.clear() : known.delete(organizationId)),
    current: async (organizationId) => {
      const runId = requireRunId()
      if (invalidated.has(organizationId)) return rebuild(organizationId)
      let epoch = known.get(organizationId)
      if (epoch === undefined) {
        epoch = await readEpoch(database, organizationId)
        known.set(organizationId, epoch)
      }
      return epoch.epoch > 0 && epoch.redisRunId === runId ? epoch.epoch : rebuild(organizationId)
    },
  }
}

async function countFromReservations(
  client: Queryable,
  organizationId: string,
  epoch: number,
): Promise<RebuiltCounters> {
  const used = await readUsed(client, organizationId)
  const recent = await readRecentOrOpen(client, organizationId)
  const served = await readServedInWindow(client, organizationId)
  const scopeOf = (row: {
    entitlement_id: string
    client_id: string
    environment: string
    knowledge_base_id: string
  }): LimitScope => ({
    organizationId,
    epoch,
    entitlementId: row.entitlement_id,
    clientId: row.client_id,
    environment: row.environment,
    knowledgeBaseId: row.knowledge_base_id,
  })
  const ids = new Map([...used, ...recent].map((row) => [row.entitlement_id, row]))
  const entitlements = [...ids.values()].map((row) => {
    const counted = used.find((candidate) => candidate.entitlement_id === row.entitlement_id)
    const own = recent.filter((candidate) => candidate.entitlement_id === row.entitlement_id)
    return {
      scope: scopeOf(row),
      dayUsed: counted?.day_used ?? 0,
      monthUsed: counted?.month_used ?? 0,
      minute: own.map(({ id, admitted_ms }) => ({ requestId: id, atMs: admitted_ms })),
      open: own
        .filter(({ state }) => state === 'open')
        .map(({ id, admitted_ms, deadline_ms, idempotency_digest }) => ({
          requestId: id,
          admittedAtMs: admitted_ms,
          deadlineMs: deadline_ms,
          idempotencyDigest: idempotency_digest ?? undefined,
        })),
    }
  })
  const byKnowledgeBase = Map.groupBy(served, (row) => row.knowledge_base_id)
  const exposure = [...byKnowledgeBase].map(([knowledgeBaseId, rows]) => ({
    scope: scopeOf({ entitlement_id: '', client_id: '', environment: '', knowledge_base_id: knowledgeBaseId }),
    windowMs: Math.max(...rows.map((row) => row.window_days)) * DAY_MS,
    served: rows.flatMap((row) => row.served.map((passage: ServedPassage) => ({ atMs: row.finished_ms, passage }))),
  }))
  return { entitlements, exposure }
}
