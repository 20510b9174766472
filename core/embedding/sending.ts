import { setTimeout as delay } from 'node:timers/promises'
import { EndpointFailure } from '#core/platform/json-endpoint.ts'
import { EMBEDDING_BOUNDS } from './bounds.ts'

/** Time of retries and of the rate limit; tests pass their own. */
export interface Clock {
  /** Milliseconds since 1970. */
  nowMs(): number
  /** Returns early once the signal is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  sleep: (ms, signal) => delay(ms, undefined, { signal }).catch(() => undefined),
}

/** How long one request is repeated while the endpoint fails, and the rate limit that it shares with others. */
export interface SendPolicy {
  /** From the first attempt to the last reply, without the time that a request waits for the rate limit. */
  readonly totalMs: number
  readonly attemptTimeoutMs: number
  readonly attemptsMax: number
  readonly backoffFirstMs: number
  readonly backoffMaxMs: number
  /** Absent: the request does not wait for others. */
  readonly rateLimit?: RateLimit
}

/** For a query, whose caller waits. */
export function queryPolicy(totalMs: number): SendPolicy {
  return {
    totalMs,
    attemptTimeoutMs: totalMs,
    attemptsMax: EMBEDDING_BOUNDS.embedAttemptsMax,
    backoffFirstMs: EMBEDDING_BOUNDS.embedBackoffFirstMs,
    backoffMaxMs: EMBEDDING_BOUNDS.embedBackoffMaxMs,
  }
}

/** For a build, which outlasts an endpoint that is unavailable for minutes. */
export function buildPolicy(
  { retry_ms, tokens_per_minute }: { retry_ms?: number | undefined; tokens_per_minute?: number | undefined },
  clock: Clock,
): SendPolicy {
  return {
    totalMs: retry_ms ?? EMBEDDING_BOUNDS.embedBuildRetryDefaultMs,
    attemptTimeoutMs: EMBEDDING_BOUNDS.embedBatchTimeoutMs,
    attemptsMax: EMBEDDING_BOUNDS.embedBuildAttemptsMax,
    backoffFirstMs: EMBEDDING_BOUNDS.embedBuildBackoffFirstMs,
    backoffMaxMs: EMBEDDING_BOUNDS.embedBuildBackoffMaxMs,
    rateLimit: createRateLimit(tokens_per_minute, clock),
  }
}

/** One request, which is sent until it is answered or its policy ends. */
export interface Sending<T> {
  readonly attempt: (timeoutMs: number) => Promise<T>
  /** Estimate for one attempt. */
  readonly tokens: number
  /** Tokens that the endpoint reported; null if it reported none. */
  readonly tokensOf: (reply: T) => number | null
  readonly policy: SendPolicy
  /** When the last attempt must have ended; an attempt that waits for the rate limit moves it. */
  readonly deadline: { endMs: number }
  readonly clock: Clock
  readonly signal: AbortSignal
}

/**
 * Repeats an attempt while it fails with a transient failure: exponential backoff with full jitter (Brooker 2015), and
 * never before the time that the endpoint states. A pause that would end after the deadline is not begun. `p-retry` has
 * a deadline that cannot move and no full jitter.
 * @throws EndpointFailure the last one.
 */
export async function send<T>(sending: Sending<T>): Promise<T> {
  const { attempt, tokens, tokensOf, policy, deadline, clock, signal } = sending
  const { rateLimit } = policy
  for (let count = 1; ; count++) {
    const beganMs = clock.nowMs()
    await rateLimit?.admit(tokens, signal)
    deadline.endMs += clock.nowMs() - beganMs
    try {
      const reply = await attempt(Math.max(1, Math.min(policy.attemptTimeoutMs, deadline.endMs - clock.nowMs())))
      // An implausible report holds nothing up: a token is at least one byte.
      const tokensMax = tokens * BYTES_PER_TOKEN + EMBEDDING_BOUNDS.embedExtraTokensMax
      rateLimit?.correct(tokens, Math.min(tokensOf(reply) ?? tokens, tokensMax))
      return reply
    } catch (error) {
      rateLimit?.correct(tokens, 0)
      if (!(error instanceof EndpointFailure) || !error.transient) throw error
      if (signal.aborted || count >= policy.attemptsMax) throw error
      const ceilingMs = Math.min(policy.backoffMaxMs, policy.backoffFirstMs * 2 ** (count - 1))
      const pauseMs = (error.retryAfterMs ?? 0) + Math.random() * ceilingMs
      if (clock.nowMs() + pauseMs >= deadline.endMs) throw error
      if (error.retryAfterMs !== undefined) rateLimit?.delay(error.retryAfterMs)
      await clock.sleep(pauseMs, signal)
      if (signal.aborted) throw error
    }
  }
}

const BYTES_PER_TOKEN = 4

/**
 * Estimates the tokens of a text without its model's tokenizer. Decision 0022 has the measurement: 4 to 4.7 bytes of
 * UTF-8 are one token of a multilingual vocabulary, in English, German and French.
 */
export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN)
}

/** When the next request to one endpoint may be sent. Concurrent requests share it. */
type RateLimit = ReturnType<typeof createRateLimit>

/**
 * A leaky bucket (ITU-T I.371, virtual scheduling) without a burst: a request starts when the tokens before it have
 * drained. In any minute at most the limit is started, and the request that passes it.
 */
function createRateLimit(tokensPerMinute: number | undefined, clock: Clock) {
  const msPerToken = tokensPerMinute === undefined ? 0 : 60_000 / tokensPerMinute
  let drainedAtMs = 0
  let delayedUntilMs = 0

  return {
    /**
     * Waits until a request with this estimate of tokens may be sent, and charges them. Returns early once the signal is
     * aborted.
     */
    async admit(tokens: number, signal: AbortSignal) {
      const startMs = Math.max(clock.nowMs(), drainedAtMs)
      drainedAtMs = startMs + tokens * msPerToken
      for (;;) {
        const waitMs = Math.max(startMs, delayedUntilMs) - clock.nowMs()
        if (waitMs <= 0 || signal.aborted) return
        await clock.sleep(Math.min(waitMs, EMBEDDING_BOUNDS.embedRateSleepMaxMs), signal)
      }
    },
    /** Corrects a charge: to the tokens that the endpoint reported, or to 0 where it refused the request. */
    correct(charged: number, used: number) {
      drainedAtMs += (used - charged) * msPerToken
    },
    /** Delays every request, because the endpoint has asked for it. */
    delay(ms: number) {
      delayedUntilMs = Math.max(delayedUntilMs, clock.nowMs() + ms)
    },
  }
}
