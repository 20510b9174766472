import { BOUNDS } from '#core/platform/bounds.ts'
import type { Clock } from './clock.ts'
import { EndpointFailure } from './endpoint.ts'

/** How long one request is repeated while the endpoint fails. */
export interface Patience {
  /** From the first attempt to the last reply, without the time that a request waits for its turn. */
  readonly totalMs: number
  readonly attemptTimeoutMs: number
  readonly attemptsMax: number
  readonly backoffFirstMs: number
  readonly backoffMaxMs: number
}

/** Of a query, whose caller waits. */
export function createShortPatience(totalMs: number): Patience {
  return {
    totalMs,
    attemptTimeoutMs: totalMs,
    attemptsMax: BOUNDS.embedAttemptsMax,
    backoffFirstMs: BOUNDS.embedBackoffFirstMs,
    backoffMaxMs: BOUNDS.embedBackoffMaxMs,
  }
}

/** Of a build. */
export function createLongPatience(totalMs: number): Patience {
  return {
    totalMs,
    attemptTimeoutMs: BOUNDS.embedBatchTimeoutMs,
    attemptsMax: BOUNDS.embedPatientAttemptsMax,
    backoffFirstMs: BOUNDS.embedPatientBackoffFirstMs,
    backoffMaxMs: BOUNDS.embedPatientBackoffMaxMs,
  }
}

export interface Attempts {
  readonly patience: Patience
  /** When the patience ends; an attempt that waits for its turn moves it. */
  readonly deadline: { endMs: number }
  readonly clock: Clock
  readonly signal: AbortSignal
  /** Called before each pause that the endpoint asked for. */
  readonly onRetryAfter: (ms: number) => void
}

/**
 * Repeats an attempt while it fails with a transient failure: exponential backoff with full jitter (Brooker 2015), and
 * never before the time that the endpoint states. A pause that would end after the patience is not begun.
 * @throws EndpointFailure the last one.
 */
export async function attemptUntilAnswered<T>(
  attempt: () => Promise<T>,
  { patience, deadline, clock, signal, onRetryAfter }: Attempts,
): Promise<T> {
  for (let count = 1; ; count++) {
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof EndpointFailure) || !error.transient) throw error
      if (signal.aborted || count >= patience.attemptsMax) throw error
      const ceilingMs = Math.min(patience.backoffMaxMs, patience.backoffFirstMs * 2 ** (count - 1))
      const pauseMs = (error.retryAfterMs ?? 0) + Math.random() * ceilingMs
      if (clock.nowMs() + pauseMs >= deadline.endMs) throw error
      if (error.retryAfterMs !== undefined) onRetryAfter(error.retryAfterMs)
      await clock.sleep(pauseMs, signal)
      if (signal.aborted) throw error
    }
  }
}
