import { setTimeout as delay } from 'node:timers/promises'

/** Time of the retries; tests pass their own. */
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
