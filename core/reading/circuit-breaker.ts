export interface CircuitBreaker {
  /**
   * Runs the work, or throws what `refusal` makes while the circuit is open.
   * @param isFailure whether an error speaks against the endpoint; others leave the circuit as it is.
   */
  run<T>(work: () => Promise<T>, isFailure: (error: unknown) => boolean): Promise<T>
}

export interface CircuitOptions {
  /** Failures in a row that open the circuit. */
  readonly failuresMax: number
  /** Time after which an open circuit lets one call through. */
  readonly pauseMs: number
  readonly refusal: () => Error
  /** Monotonic, ms. */
  readonly nowMs?: () => number
}

/** A circuit breaker (Nygard 2007): an endpoint that fails is left alone for a while, then tried with one call. */
export function createCircuitBreaker({
  failuresMax,
  pauseMs,
  refusal,
  nowMs = () => performance.now(),
}: CircuitOptions): CircuitBreaker {
  let failures = 0
  let closedAtMs = 0
  return {
    async run(work, isFailure) {
      if (failures >= failuresMax) {
        if (nowMs() < closedAtMs) throw refusal()
        // Other calls are refused until this one has ended.
        closedAtMs = nowMs() + pauseMs
      }
      try {
        const done = await work()
        failures = 0
        return done
      } catch (error) {
        if (isFailure(error)) {
          failures++
          closedAtMs = nowMs() + pauseMs
        }
        throw error
      }
    },
  }
}
