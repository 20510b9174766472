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

/** How long one request is repeated while the endpoint fails. */
export interface RetryPolicy {
  /** From the first attempt to the last reply, without the time that a request waits for the rate limit. */
  readonly totalMs: number
  readonly attemptTimeoutMs: number
  readonly attemptsMax: number
  readonly backoffFirstMs: number
  readonly backoffMaxMs: number
}

/** For a query, whose caller waits. */
export function queryRetryPolicy(totalMs: number): RetryPolicy {
  return {
    totalMs,
    attemptTimeoutMs: totalMs,
    attemptsMax: EMBEDDING_BOUNDS.embedAttemptsMax,
    backoffFirstMs: EMBEDDING_BOUNDS.embedBackoffFirstMs,
    backoffMaxMs: EMBEDDING_BOUNDS.embedBackoffMaxMs,
  }
}

/** For a build, which outlasts an endpoint that is unavailable for minutes. */
export function buildRetryPolicy(totalMs: number): RetryPolicy {
  return {
    totalMs,
    attemptTimeoutMs: EMBEDDING_BOUNDS.embedBatchTimeoutMs,
    attemptsMax: EMBEDDING_BOUNDS.embedBuildAttemptsMax,
    backoffFirstMs: EMBEDDING_BOUNDS.embedBuildBackoffFirstMs,
    backoffMaxMs: EMBEDDING_BOUNDS.embedBuildBackoffMaxMs,
  }
}

export interface RetryOptions {
  readonly policy: RetryPolicy
  /** When the last attempt must have ended; an attempt that waits for the rate limit moves it. */
  readonly deadline: { endMs: number }
  readonly clock: Clock
  readonly signal: AbortSignal
  /** Called before each pause that the endpoint asked for. */
  readonly onRetryAfter: (ms: number) => void
}

/**
 * Repeats an attempt while it fails with a transient failure: exponential backoff with full jitter (Brooker 2015), and
 * never before the time that the endpoint states. A pause that would end after the deadline is not begun. `p-retry` has
 * a deadline that cannot move and no full jitter.
 * @throws EndpointFailure the last one.
 */
export async function retry<T>(
  attempt: () => Promise<T>,
  { policy, deadline, clock, signal, onRetryAfter }: RetryOptions,
): Promise<T> {
  for (let count = 1; ; count++) {
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof EndpointFailure) || !error.transient) throw error
      if (signal.aborted || count >= policy.attemptsMax) throw error
      const ceilingMs = Math.min(policy.backoffMaxMs, policy.backoffFirstMs * 2 ** (count - 1))
      const pauseMs = (error.retryAfterMs ?? 0) + Math.random() * ceilingMs
      if (clock.nowMs() + pauseMs >= deadline.endMs) throw error
      if (error.retryAfterMs !== undefined) onRetryAfter(error.retryAfterMs)
      await clock.sleep(pauseMs, signal)
      if (signal.aborted) throw error
    }
  }
}
