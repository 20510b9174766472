import { z } from 'zod'

/**
 * What became of a request. `lost`: the connection ended or no reply came in time. `hung up`: the caller ended it, as
 * it was told to. `not sent`: the generator was at its bound, so the service never saw it.
 */
const OUTCOMES = ['replied', 'hung up', 'lost', 'not sent'] as const

export const recordSchema = z.strictObject({
  /** Number within the run. */
  n: z.int(),
  phase: z.string(),
  tenant: z.string(),
  /** The service does not know the key. */
  unknownKey: z.boolean(),
  /** Index of the gateway that was asked. */
  gateway: z.int(),
  /** Wall clock, ms since 1970-01-01: when it was to be sent, when it was sent, and when the reply was whole. */
  scheduledMs: z.number(),
  startedMs: z.number(),
  endedMs: z.number(),
  /** From the scheduled instant to the end, on a monotonic clock; a late start counts as latency. */
  latencyMs: z.number(),
  /** By how much the generator was late. */
  lateMs: z.number(),
  /** What the clock of Redis is ahead of the wall clock. */
  clockOffsetMs: z.number(),
  outcome: z.enum(OUTCOMES),
  /** 0 without a reply. */
  status: z.int(),
  /** Of the error in the reply; of a lost request, what its client said. */
  code: z.string().nullable(),
  requestId: z.string().nullable(),
  originalRequestId: z.string().nullable(),
  retryAfterSeconds: z.number().nullable(),
  /** Of the headers RateLimit-Policy and RateLimit, where there are any. */
  minuteQuota: z.number().nullable(),
  minuteLeft: z.number().nullable(),
  dayQuota: z.number().nullable(),
  monthQuota: z.number().nullable(),
  idempotencyKey: z.string().nullable(),
  /** The request whose Retry-After this one waited for. */
  probeOf: z.int().nullable(),
  bytes: z.int(),
  /** Rules of the contract that the reply breaks. */
  faults: z.array(z.string()),
})

/** One request that was offered to the service. */
export type RequestRecord = z.infer<typeof recordSchema>

/** Refused by the rate of the minute, as far as its reply shows. */
export function isRateRefusal(record: RequestRecord): boolean {
  return record.code === 'RATE_LIMITED' && record.minuteLeft === 0
}

/** Refused although the minute has room: by the concurrency or by the exposure. */
export function isThrottleRefusal(record: RequestRecord): boolean {
  return record.code === 'RATE_LIMITED' && record.minuteLeft !== 0
}

/** The reservation's id; request ids have a prefix. */
export function reservationIdOf({ requestId }: Pick<RequestRecord, 'requestId'>): string | null {
  return requestId?.replace(/^req_/, '') ?? null
}
