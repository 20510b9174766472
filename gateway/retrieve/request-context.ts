import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { createRequestId, publicRequestId, publicTraceId, type RequestId } from '#core/platform/ids.ts'
import { traced, type TraceSpan } from '#core/platform/tracing.ts'

/** The stages of a request, in order. */
export const STAGES = [
  'authenticate',
  'parse',
  'entitle',
  'narrow',
  'pin',
  'enter',
  'admit',
  'rewrite',
  'embed',
  'search',
  'read',
  'decide',
  'bound',
  'record',
  'reply',
] as const
export type Stage = (typeof STAGES)[number]

/** External parties; time spent waiting for them is not the gateway's own time. */
export const PARTIES = ['caller', 'redis', 'postgres', 'provider', 'search'] as const
export type Party = (typeof PARTIES)[number]

/** Ids in the form that callers see. */
export interface PublicIds {
  readonly requestId: string
  readonly traceId: string
}

/** One HTTP exchange: its request, ids, caller address and timings. */
export interface RequestContext {
  readonly requestId: RequestId
  readonly traceId: string
  readonly ids: PublicIds
  readonly incoming: IncomingMessage
  readonly address: string
  /** Aborts when the caller hangs up or the request's deadline passes. */
  readonly signal: AbortSignal
  /** True once the caller hung up. */
  callerGone(): boolean
  readonly timings: Timings
  span?: TraceSpan | undefined
  /** What the log and the record say of the request, as far as it is known. */
  readonly about: RequestFacts
  /** Name of the client, for counters; known from `authenticate` on if the key exists. */
  client: string | undefined
  /** Once the limits were evaluated. */
  usage: LimitUsage | undefined
  firstScore: number | undefined
  /** The digests of the presented key, under each pepper in use; none before `authenticate`. */
  digests: readonly Buffer[]
  /** As `parse` found it. */
  idempotencyKey: string | undefined
}

/** How much of its limits an entitlement has used; 1: all. */
export interface LimitUsage {
  readonly entitlement_id: string
  readonly day: number
  readonly month: number
  /** The rate is lowered, because a mark of the exposure is near or passed. */
  readonly tightened: boolean
  /** Clock of Redis, ms. */
  readonly atMs: number
}

export interface RequestFacts {
  client_id?: string
  knowledge_base?: string
  version_id?: string
  /** Address of the search node that answered. */
  node?: string
}

/** Time per stage and per party, in milliseconds. */
export type Timings = ReturnType<typeof createTimings>

/** Time of each stage so far, in whole microseconds as ms. */
export function stageMs({ stages }: Timings): Readonly<Record<string, number>> {
  return Object.fromEntries(stages.map(({ name, ms }) => [name, Math.round(ms * 1_000) / 1_000]))
}

function createTimings() {
  const beganMs = performance.now()
  const stages: { name: Stage; ms: number }[] = []
  const waitedMs: Record<Party, number> = { caller: 0, redis: 0, postgres: 0, provider: 0, search: 0 }
  return {
    stages,
    waitedMs,
    stage: async <T>(name: Stage, work: () => T | Promise<T>): Promise<T> => {
      const from = performance.now()
      try {
        return await traced(name, {}, async () => work())
      } finally {
        stages.push({ name, ms: performance.now() - from })
      }
    },
    /** Counts the time until `work` is done as waiting for `party`. */
    wait: async <T>(party: Party, work: Promise<T>): Promise<T> => {
      const from = performance.now()
      try {
        return await work
      } finally {
        waitedMs[party] += performance.now() - from
      }
    },
    totalMs: () => performance.now() - beganMs,
  }
}

export function createIds(): Pick<RequestContext, 'requestId' | 'traceId' | 'ids'> {
  const [requestId, traceId] = [createRequestId(), randomUUID()]
  return { requestId, traceId, ids: { requestId: publicRequestId(requestId), traceId: publicTraceId(traceId) } }
}

export function createRequestContext(
  incoming: IncomingMessage,
  address: string,
  signal: AbortSignal,
  callerGone: () => boolean,
): RequestContext {
  return {
    ...createIds(),
    incoming,
    address,
    signal,
    callerGone,
    timings: createTimings(),
    about: {},
    client: undefined,
    usage: undefined,
    firstScore: undefined,
    digests: [],
    idempotencyKey: undefined,
  }
}
