import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { afterAll, expect } from 'vitest'
import { openCounters } from '#core/limits/counters.ts'
import type { ChargeDecision, ChargeRequest, Ending, StoppedDocument } from '#core/limits/counters.ts'
import { createLog } from '#core/platform/log.ts'
import { entitlementKeys, epochKey, type LimitScope } from '#core/limits/counter-keys.ts'
import { planLimitsSchema, type PlanLimits } from '#core/domain/quota-plan.ts'
import type { ServedPassage } from '#core/domain/exposure.ts'
import { openTestRedis } from '#test/support/redis.ts'

/** In force for every scope. */
export const EPOCH = randomUUID()
export const WINDOW_MS = 30 * 86_400_000

export function keysOf(scope: LimitScope) {
  return entitlementKeys(scope.organizationId, EPOCH, scope.entitlementId)
}

export function plan(limits: object = {}): PlanLimits {
  return planLimitsSchema.parse({ requests_per_minute: 1_000, concurrency: 1_000, ...limits })
}

/** A mark that is never reached. */
export const MANY = 1_000_000

const UNLIMITED_EXPOSURE = { soft_share: 1, hard_share: 1, floors: { corpus: MANY, document: MANY } }

export function passages(document: string, from: number, count: number, total = 1_000): ServedPassage[] {
  return Array.from({ length: count }, (_, index) => ({ chunk: `${document}-${from + index}`, document, total }))
}

/** The clock of Redis, or the instant that was set. */
const SET_CLOCK = `
local function now_ms()
  local set, time = redis.call('GET', 'test:now'), redis.call('TIME')
  return set and tonumber(set) or tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end
`

/** Counters over a Redis of the calling test file, closed after its tests. */
export async function openTestCounters() {
  const server = await openTestRedis()
  const redis = new Redis(server.url)
  const counters = openCounters(server.url, createLog('test', 'silent'), SET_CLOCK)
  await counters.usable()

  afterAll(async () => {
    counters.close()
    redis.disconnect()
    await server.release()
  })

  async function createScope(): Promise<LimitScope> {
    const scope = {
      organizationId: randomUUID(),
      entitlementId: randomUUID(),
      knowledgeBaseId: randomUUID(),
      clientId: randomUUID(),
      environment: 'live',
    }
    await redis.hset(epochKey(scope.organizationId), { epoch: EPOCH, window: WINDOW_MS })
    return scope
  }

  function ask(
    scope: LimitScope,
    limits: PlanLimits,
    { epoch = EPOCH, ...more }: Partial<ChargeRequest> & { readonly epoch?: string } = {},
  ): Promise<ChargeDecision> {
    return counters.admit(scope, epoch, {
      requestId: randomUUID(),
      topK: 0,
      limits,
      corpusPassages: 100_000,
      exposureAllowance: 0,
      idempotencyDigest: undefined,
      ...more,
    })
  }

  function end(
    scope: LimitScope,
    requestId: string,
    ending: Ending,
    digest?: Buffer,
    stopped?: StoppedDocument,
  ): Promise<unknown> {
    const settled = { requestId, idempotencyDigest: digest, served: [], stopped }
    return counters.settle(scope, ending === 'undo' ? { ...settled, ending, epoch: EPOCH } : { ...settled, ending })
  }

  /** Charges a request of another entitlement of the same organization and delivers these passages. */
  async function serve(scope: LimitScope, limits: PlanLimits, served: readonly ServedPassage[]): Promise<void> {
    const other = { ...scope, entitlementId: randomUUID() }
    const requestId = randomUUID()
    const unlimited = plan({ exposure: { ...limits.exposure, ...UNLIMITED_EXPOSURE } })
    expect((await ask(other, unlimited, { requestId })).status).toBe('admitted')
    await counters.settle(other, { requestId, ending: 'deliver', idempotencyDigest: undefined, served })
  }

  /** Stops the clock of the counters at an instant. */
  async function setNow(ms: number): Promise<void> {
    await redis.set('test:now', ms)
  }

  return { redis, counters, setNow, createScope, ask, end, serve }
}
