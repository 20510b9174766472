import { readFileSync } from 'node:fs'
import type { Redis } from 'ioredis'
import { z } from 'zod'
import { LIMIT_BOUNDS } from '#core/limits/bounds.ts'
import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import type { Log } from '#core/platform/log.ts'
import { databaseCall } from '#core/platform/tracing.ts'
import { exposureMarks, type ServedPassage } from '#core/domain/exposure.ts'
import type { PlanLimits } from '#core/domain/quota-plan.ts'
import {
  CONFIRMED_KEY,
  deadlinesKey,
  entitlementKeys,
  epochKey,
  epochsKey,
  exposedBase,
  exposureKey,
  heldKeySuffix,
  stopsSuffix,
  tag,
} from './counter-keys.ts'
import type { LimitScope } from './counter-keys.ts'
import { openPrimary } from '#core/redis/primary.ts'
import { confirmedReply, readConfirmed } from './confirmed.ts'
import { createInstaller } from './install.ts'

const part = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8')
const CLOCK = part('./clock.lua')
const SHARED = part('./calendar.lua') + part('./exposure.lua')
const ADMIT = SHARED + part('./admit.lua')
const SETTLE = SHARED + part('./settle.lua')
const DISCARD = part('./discard.lua')

const TIGHTENED_RATE_DIVISOR = 5

/**
 * admitted: charged. stale: the epoch is not in force. overdue: a settlement never arrived, so the counters are
 * uncertain. held: another request is being admitted under the Idempotency-Key. The others: refused, nothing charged.
 */
const STATUSES = ['admitted', 'stale', 'overdue', 'held', 'quota', 'exposure', 'rate', 'concurrency'] as const

/** Usage of the windows, in requests. */
export type Usage = Pick<ChargeDecision, 'dayUsed' | 'monthUsed' | 'minuteUsed'>

/** Decision of the script, and the usage after it. */
export type ChargeDecision = Readonly<z.infer<typeof admitReply>>

export interface StoppedDocument {
  readonly id: string
  /** ms since 1970-01-01; 0: when the requests under way have ended. */
  readonly opensAtMs: number
}

export interface ChargeRequest {
  readonly requestId: string
  /** Passages that it may serve; reserved until it is settled. */
  readonly topK: number
  readonly limits: PlanLimits
  readonly corpusPassages: number
  /** Passages that an operator allows beyond the marks of the plan. */
  readonly exposureAllowance: number
  readonly idempotencyDigest: Buffer | undefined
}

/** How a charged request ends; `settle.lua` says what each gives back. */
export type Ending = 'deliver' | 'fail' | 'refund' | 'undo'

/** An undo names the epoch that was charged under: another charge of the same request is left as it is. */
export type Settled = {
  readonly requestId: string
  readonly idempotencyDigest: Buffer | undefined
  readonly served: readonly ServedPassage[]
  /** The document at its mark for which the reply was not sent. */
  readonly stopped?: StoppedDocument | undefined
} & ({ readonly ending: Exclude<Ending, 'undo'> } | { readonly ending: 'undo'; readonly epoch: string })

/** The limit counters in Redis. Every command fails fast: no retry, no offline queue, a time-out. */
export type Counters = ReturnType<typeof openCounters>

/**
 * Connects. Until the connection is ready, commands fail and do not wait.
 * @param clock Lua text that defines `now_ms`. Tests move the clock with it.
 */
export function openCounters(url: string, log: Log, clock: string = CLOCK) {
  const primary = openPrimary(url, {
    name: 'limits',
    log,
    whileAway: 'fail',
    scripts: {
      readClock: { lua: `${clock}\nreturn now_ms()` },
      admitRequest: { lua: clock + ADMIT },
      settleRequest: { lua: clock + SETTLE },
      discardExposure: { lua: DISCARD },
    },
  })
  const { redis } = primary
  return {
    ...primary,
    nowMs: async () => z.number().parse(await run(redis, 'readClock', [], [])),
    /** The clock of the server, which no test moves; ms since 1970-01-01. */
    async serverClockMs() {
      const [seconds, microseconds] = await redis.time()
      return Number(seconds) * 1_000 + Number(microseconds) / 1_000
    },
    /** @param epoch that Postgres says is in force. */
    admit: (scope: LimitScope, epoch: string, request: ChargeRequest) => admit(redis, scope, epoch, request),
    /**
     * Ends a charged request in the epoch in force. A repetition changes nothing.
     * @returns the `usage` after an undo; undefined, without any effect, while no epoch is in force.
     */
    settle: (scope: LimitScope, settled: Settled) => settle(redis, scope, settled),
    /** The epoch in force and the exposure window that it counts; undefined while there is none. */
    async inForce(organizationId: string) {
      const [epoch, windowMs] = await redis.hmget(epochKey(organizationId), 'epoch', 'window')
      return typeof epoch === 'string' ? { epoch, windowMs: Number(windowMs) } : undefined
    },
    /** What of Postgres is known to be committed. */
    confirmed: () => readConfirmed(redis),
    /** Takes the organization's epoch out of force; then nothing is admitted and nothing is settled. */
    async retire(organizationId: string) {
      await redis.del(epochKey(organizationId))
    },
    /** Frees the exposure of every other epoch; their other counters are few and expire. */
    async discardOthers(organizationId: string, epoch: string) {
      for (const other of await redis.smembers(epochsKey(organizationId))) {
        if (other === epoch) continue
        const args = [`${tag(organizationId)}:${other}`, LIMIT_BOUNDS.discardDocuments]
        while ((await run(redis, 'discardExposure', [], args)) === 1) continue
        await redis.srem(epochsKey(organizationId), other)
      }
    },
    installer: createInstaller(redis),
    async ping() {
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
  return databaseCall('redis', name, () => call.call(redis, keys.length, ...keys, ...args))
}

const stoppedReply = z
  .array(z.union([z.string(), z.number()]))
  .transform((list): readonly StoppedDocument[] =>
    list.flatMap((id, at) => (at % 2 === 0 ? [{ id: String(id), opensAtMs: Number(list[at + 1]) }] : [])),
  )
const count = z.number()

const admitReply = z
  .tuple([z.enum(STATUSES), count, count, count, count, count, count, count, stoppedReply, confirmedReply])
  .transform(
    ([status, nowMs, dayUsed, monthUsed, minuteUsed, retryAfterMs, rateInForce, look, stopped, confirmed]) => ({
      status,
      /** Clock of Redis, ms since 1970-01-01. All windows use this clock. */
      nowMs,
      dayUsed,
      monthUsed,
      minuteUsed,
      retryAfterMs,
      /** Requests per minute in force: the plan's, or a fifth of it past a soft mark of the exposure. */
      rateInForce,
      /** Whether the Idempotency-Key of this refused request may be looked up in Postgres. */
      mayLookUp: look === 1,
      /** Documents whose passages are not served now, of an admitted request. */
      stoppedDocuments: status === 'admitted' ? stopped : [],
      /** What the exposure refuses or slows down, of a refused one; '': the knowledge base. */
      exposed: status === 'admitted' ? undefined : stopped[0],
      confirmed,
    }),
  )

async function admit(redis: Redis, scope: LimitScope, epoch: string, request: ChargeRequest): Promise<ChargeDecision> {
  const { organizationId, entitlementId } = scope
  const { limits, idempotencyDigest } = request
  const { exposure } = limits
  const keys = entitlementKeys(organizationId, epoch, entitlementId)
  const { windowDays, corpus, document } = exposureMarks(exposure, { ...request, environment: scope.environment })
  const reply = await run(
    redis,
    'admitRequest',
    [
      epochKey(organizationId),
      deadlinesKey(organizationId, epoch),
      keys.minute,
      keys.leases,
      keys.counts,
      keys.lookups,
      exposureKey(organizationId, epoch, scope),
      CONFIRMED_KEY,
      `${tag(organizationId)}:${epoch}:${stopsSuffix(scope)}`,
      ...(idempotencyDigest === undefined
        ? []
        : [`${tag(organizationId)}:${epoch}:${heldKeySuffix(scope, idempotencyDigest)}`]),
    ],
    [
      request.requestId,
      epoch,
      limits.requests_per_minute,
      Math.max(1, Math.floor(limits.requests_per_minute / TIGHTENED_RATE_DIVISOR)),
      limits.concurrency,
      limits.requests_per_day,
      limits.requests_per_month,
      PLATFORM_BOUNDS.hardDeadlineMs,
      LIMIT_BOUNDS.idempotencyHoldMs,
      limits.requests_per_minute * LIMIT_BOUNDS.idempotencyLooksPerRequest,
      windowDays,
      corpus.hard,
      corpus.soft,
      corpus.daily,
      document.share,
      document.floor,
      document.dailyShare,
      document.dailyFloor,
      request.exposureAllowance,
      document.softPart,
      request.topK,
    ],
  )
  return admitReply.parse(reply)
}

const settleReply = z.union([
  z.tuple([z.literal(1)]),
  z.tuple([z.literal(0)]),
  z.tuple([z.literal(1), z.number(), z.number(), z.number()]),
])

async function settle(redis: Redis, scope: LimitScope, settled: Settled): Promise<{ usage?: Usage } | undefined> {
  const reply = await run(
    redis,
    'settleRequest',
    [epochKey(scope.organizationId), CONFIRMED_KEY],
    [
      tag(scope.organizationId),
      settled.requestId,
      settled.ending,
      scope.entitlementId,
      exposedBase(scope),
      PLATFORM_BOUNDS.hardDeadlineMs,
      settled.idempotencyDigest === undefined ? '' : heldKeySuffix(scope, settled.idempotencyDigest),
      settled.ending === 'undo' ? settled.epoch : '',
      stopsSuffix(scope),
      settled.stopped?.id ?? '',
      settled.stopped?.opensAtMs ?? 0,
      ...settled.served.flatMap(({ chunk, document, total }) => [chunk, document, total]),
    ],
  )
  const parsed = settleReply.parse(reply)
  if (parsed[0] === 0) return undefined
  if (parsed.length === 1) return {}
  const [, dayUsed, monthUsed, minuteUsed] = parsed
  return { usage: { dayUsed, monthUsed, minuteUsed } }
}
