/** An endpoint that fails is left alone; see `circuitBreaker`. */
export interface BreakerBounds {
  /** Failures in a row after which it is left alone. */
  readonly failuresMax: number
  readonly pauseMs: number
}

/**
 * A circuit breaker (Nygard 2007): an endpoint that failed several times in a row is left alone for a while, then tried
 * with one call. A caller that hangs up says nothing about the endpoint.
 * @param refused makes the error of a call while the endpoint is left alone. @param nowMs monotonic.
 */
export function circuitBreaker(
  { failuresMax, pauseMs }: BreakerBounds,
  refused: () => Error,
  nowMs: () => number = () => performance.now(),
): <T>(signal: AbortSignal, call: () => Promise<T>) => Promise<T> {
  let failures = 0
  let closedAtMs = 0
  return async (signal, call) => {
    if (failures >= failuresMax) {
      if (nowMs() < closedAtMs) throw refused()
      // Other calls are refused until this one has ended.
      closedAtMs = nowMs() + pauseMs
    }
    try {
      const result = await call()
      failures = 0
      return result
    } catch (error) {
      if (!signal.aborted) {
        failures++
        closedAtMs = nowMs() + pauseMs
      }
      throw error
    }
  }
}
