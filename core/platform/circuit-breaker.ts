/** When an endpoint that fails is left alone, and for how long. */
export interface BreakerBounds {
  /** Failures in a row after which it is left alone. */
  readonly failuresMax: number
  readonly pauseMs: number
  /** The pause doubles with each trial that fails, up to this; it stays the same if absent. */
  readonly pauseMaxMs?: number
}

/**
 * A circuit breaker (Nygard 2007): an endpoint that failed several times in a row is left alone for a while, then tried
 * with one call.
 * @param nowMs monotonic.
 */
export function createBreaker(
  { failuresMax, pauseMs, pauseMaxMs = pauseMs }: BreakerBounds,
  nowMs: () => number = () => performance.now(),
) {
  let failures = 0
  let failedTrials = 0
  let closedAtMs = 0
  const isOpen = (): boolean => failures >= failuresMax && nowMs() < closedAtMs

  return {
    /** Whether the endpoint is to be left alone now. */
    isOpen,
    /** The first call after a pause is a trial: the breaker is open until it has ended. */
    async watch<T>(call: () => Promise<T>, isFault: (error: unknown) => boolean): Promise<T> {
      const isTrial = failures >= failuresMax && !isOpen()
      const pauseOn = (): number => nowMs() + Math.min(pauseMs * 2 ** failedTrials, pauseMaxMs)
      if (isTrial) closedAtMs = pauseOn()
      try {
        const result = await call()
        failures = 0
        failedTrials = 0
        return result
      } catch (error) {
        if (isFault(error)) {
          failures++
          if (isTrial) failedTrials++
          closedAtMs = pauseOn()
        }
        throw error
      }
    },
  }
}
