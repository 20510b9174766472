import { readFileSync } from 'node:fs'
import type { Redis } from 'ioredis'
import { BOUNDS } from '#core/platform/bounds.ts'
import type { Log } from '#core/platform/log.ts'
import { DAY_MS } from '#core/platform/time.ts'
import { openPrimary } from '#core/redis/primary.ts'
import type { Usability } from '#core/redis/usability.ts'
import type { ServedPassage } from '#core/domain/exposure.ts'
import type { PlanLimits } from '#core/domain/quota-plan.ts'
import { install } from './install.ts'
import type { RebuiltCounters } from './install.ts'
import { limitKeys, readyKey } from './counter-keys.ts'
import type { LimitScope } from './counter-keys.ts'

const script = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8')
const ADMIT = script('./admit.lua')
const RELEASE = script('./release.lua')
const SETTLE = script('./settle.lua')

const TIGHTENED_RATE_DIVISOR = 5

export type AdmissionStatus = 'admitted' | 'epoch' | 'conflict' | 'quota' | 'exposure' | 'rate' | 'concurrency'

/** Decision of the script, and the usage of the windows after it. */
export interface AdmissionDecision {
  readonly status: AdmissionStatus
  /** Clock of Redis, ms since 1970-01-01. All windows use this clock. */
  readonly nowMs: number
  readonly dayUsed: number
  readonly monthUsed: number
  readonly minuteUsed: number
  readonly retryAfterMs: number
  /** Requests per minute in force: the plan's, or the tightened rate past the soft exposure mark. */
  readonly rateInForce: number
  readonly originalRequestId: string
}

export interface AdmissionRequest {
  readonly requestId: string
  readonly limits: PlanLimits
  readonly corpusPassages: number
  readonly idempotencyDigest: Buffer | undefined
  /** Set if Postgres already has this idempotency key. Then nothing is charged and only the windows are read. */
  readonly originalRequestId: string | undefined
}

/**
 * The limit counters in Redis. Every command fails fast: no retry, no offline queue, a time-out. While `runId` is
 * undefined, no request may be admitted.
 */
export interface Limiter extends Usability {
  admit(scope: LimitScope, request: AdmissionRequest): Promise<AdmissionDecision>
  /** Reverses the whole charge of a request. */
  undo(scope: LimitScope, requestId: string, idempotencyDigest: Buffer | undefined): Promise<void>
  /** Returns the charge of day and month and the idempotency key, but not the minute slot. */
  refund(scope: LimitScope, requestId: string, idempotencyDigest: Buffer | undefined): Promise<void>
  /** Ends only the lease; the request stays charged. */
  end(scope: LimitScope, requestId: string): Promise<void>
  /**
   * Ends the lease and adds what was served to the exposure.
   * @returns false, without any effect, if the epoch is no longer in force.
   */
  settle(scope: LimitScope, requestId: string, limits: PlanLimits, served: readonly ServedPassage[]): Promise<boolean>
  isReady(organizationId: string, epoch: number): Promise<boolean>
  /** Takes the organization's epoch out of force until `install`. */
  retire(organizationId: string): Promise<void>
  install(organizationId: string, epoch: number, counters: RebuiltCounters): Promise<void>
  ping(): Promise<void>
  close(): void
}

/** Connects. Until the connection is ready, commands fail and do not wait. */
export function openLimiter(url: string, log: Log): Limiter {
  const primary = openPrimary(url, {
    name: 'limits',
    log,
    whileAway: 'fail',
    scripts: { admitRequest: { lua: ADMIT }, releaseRequest: { lua: RELEASE }, settleRequest: { lua: SETTLE } },
  })
  const { redis } = primary
  return {
    ...primary,
    admit: (scope, request) => admit(redis, scope, request),
    undo: (scope, requestId, digest) => release(redis, 'undo', scope, requestId, digest),
    refund: (scope, requestId, digest) => release(redis, 'refund', scope, requestId, digest),
    end: (scope, requestId) => release(redis, 'end', scope, requestId, undefined),
    settle: (scope, requestId, limits, served) => settle(redis, scope, requestId, limits, served),
    isReady: async (organizationId, epoch) => (await redis.get(readyKey(organizationId))) === String(epoch),
    retire: async (organizationId) => {
      await redis.del(readyKey(organizationId))
    },
    install: (organizationId, epoch, counters) => install(redis, organizationId, epoch, counters),
    ping: async () => {
      await redis.ping()
    },
  }
}

type Scripted = Record<string, (numberOfKeys: number, ...rest: (string | number)[]) => Promise<unknown>>

async function run(
  redis: Redis,
  name: string,
  keys: readonly string[],
  args: readonly (string | number)[],
): Promise<unknown> {
  const call = (redis as unknown as Scripted)[name]
  if (call === undefined) throw new Error(`script ${name} is not defined`)
  return call.call(redis, keys.length, ...keys, ...args)
}

function runMark(limits: PlanLimits): number {
  return Math.max(limits.exposure.run, limits.exposure.floors.run)
}

async function admit(redis: Redis, scope: LimitScope, request: AdmissionRequest): Promise<AdmissionDecision> {
  const keys = limitKeys(scope)
  const { limits, corpusPassages } = request
  const { exposure } = limits
  const mark = (share: number): number => Math.max(Math.floor(share * corpusPassages), exposure.floors.corpus)
  const reply = await run(
    redis,
    'admitRequest',
    [
      keys.ready,
      keys.minute,
      keys.leases,
      keys.counts,
      keys.charge(request.requestId),
      keys.exposure,
      keys.flags,
      ...(request.idempotencyDigest === undefined ? [] : [keys.idempotency(request.idempotencyDigest)]),
    ],
    [
      request.requestId,
      limits.requests_per_minute,
      Math.max(1, Math.floor(limits.requests_per_minute / TIGHTENED_RATE_DIVISOR)),
      limits.concurrency,
      limits.requests_per_day,
      limits.requests_per_month,
      BOUNDS.hardDeadlineMs,
      exposure.window_days * DAY_MS,
      mark(exposure.soft_share),
      mark(exposure.hard_share),
      exposure.document_share,
      exposure.floors.document,
      runMark(limits),
      keys.documentPrefix,
      request.originalRequestId ?? '',
      scope.epoch,
    ],
  )
  const [status, nowMs, dayUsed, monthUsed, minuteUsed, retryAfterMs, rateInForce, originalRequestId] = reply as [
    AdmissionStatus,
    number,
    number,
    number,
    number,
    number,
    number,
    string,
  ]
  return { status, nowMs, dayUsed, monthUsed, minuteUsed, retryAfterMs, rateInForce, originalRequestId }
}

async function release(
  redis: Redis,
  mode: 'undo' | 'refund' | 'end',
  scope: LimitScope,
  requestId: string,
  digest: Buffer | undefined,
): Promise<void> {
  const keys = limitKeys(scope)
  const named = [
    keys.minute,
    keys.leases,
    keys.counts,
    keys.charge(requestId),
    ...(digest === undefined ? [] : [keys.idempotency(digest)]),
  ]
  await run(redis, 'releaseRequest', named, [requestId, mode])
}

async function settle(
  redis: Redis,
  scope: LimitScope,
  requestId: string,
  limits: PlanLimits,
  served: readonly ServedPassage[],
): Promise<boolean> {
  const keys = limitKeys(scope)
  const { exposure } = limits
  const reply = await run(
    redis,
    'settleRequest',
    [keys.ready, keys.leases, keys.exposure, keys.flags],
    [
      requestId,
      scope.epoch,
      exposure.window_days * DAY_MS,
      exposure.document_share,
      exposure.floors.document,
      runMark(limits),
      keys.documentPrefix,
      ...served.flatMap((passage) => [
        passage.chunk,
        passage.document,
        passage.revision,
        passage.ordinal,
        passage.total,
      ]),
    ],
  )
  return reply === 1
}
