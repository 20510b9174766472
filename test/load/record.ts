/** One request that was offered to the service. */
export interface RequestRecord extends Reply {
  /** Number within the run. */
  readonly n: number
  readonly phase: string
  readonly tenant: string
  /** The service does not know the key. */
  readonly unknownKey: boolean
  /** Index of the gateway that was asked. */
  readonly gateway: number
  /** Wall clock, ms since 1970-01-01: when it was to be sent, when it was sent, and when the reply was whole. */
  readonly scheduledMs: number
  readonly startedMs: number
  readonly endedMs: number
  /** From the scheduled instant to the end, on a monotonic clock; a late start counts as latency. */
  readonly latencyMs: number
  /** By how much the generator was late. */
  readonly lateMs: number
  /** What the clock of Redis is ahead of the wall clock. */
  readonly clockOffsetMs: number
  readonly idempotencyKey: string | null
  /** The request whose Retry-After this one waited for. */
  readonly probeOf: number | null
}

/** What a request brought back. */
export interface Reply {
  /**
   * `lost`: the connection ended or no reply came in time. `hung up`: the caller ended it, as it was told to. `not
   * sent`: the generator was at its bound, so the service never saw it.
   */
  readonly outcome: 'replied' | 'hung up' | 'lost' | 'not sent'
  /** 0 without a reply. */
  readonly status: number
  /** Of the error in the reply; of a lost request, what its client said. */
  readonly code: string | null
  readonly requestId: string | null
  readonly originalRequestId: string | null
  readonly retryAfterSeconds: number | null
  /** Of the headers RateLimit-Policy and RateLimit, where there are any. */
  readonly minuteQuota: number | null
  readonly minuteLeft: number | null
  /** Of a reply with status 200, and the version that it was answered from. */
  readonly decision: 'answer' | 'abstain' | null
  readonly version: string | null
  /** Rules of the contract that the reply breaks. */
  readonly faults: readonly string[]
}

/** Refused by the rate of the minute, as far as its reply shows. */
export function isRateRefusal(record: RequestRecord): boolean {
  return record.code === 'RATE_LIMITED' && record.minuteLeft === 0
}

/** Refused although the minute has room: by the concurrency or by the exposure. */
export function isThrottleRefusal(record: RequestRecord): boolean {
  return record.code === 'RATE_LIMITED' && record.minuteLeft !== 0
}

/** The reservation's id; request ids have a prefix. Empty without a reply. */
export function reservationIdOf({ requestId }: Pick<RequestRecord, 'requestId'>): string {
  return requestId?.replace(/^req_/, '') ?? ''
}
