import { setTimeout as sleep } from 'node:timers/promises'

/**
 * serving: normal operation. draining: requests are served, and replies ask the connection to close. refusing: new
 * requests get 503 while the last ones finish.
 */
type Phase = 'serving' | 'draining' | 'refusing'

/** The phase of the gateway between start and stop, and its exchanges in flight. */
export type Lifecycle = ReturnType<typeof createLifecycle>

export function createLifecycle() {
  let phase: Phase = 'serving'
  let inFlight = 0
  const waiting = new Set<() => void>()
  return {
    phase: (): Phase => phase,
    advance: (to: Phase): void => void (phase = to),
    inFlight: () => inFlight,
    /** Call the returned function when the request is over. */
    begin: (): (() => void) => {
      inFlight++
      let over = false
      return () => {
        if (over) return
        over = true
        inFlight--
        if (inFlight === 0) for (const wake of waiting) wake()
      }
    },
    /** Resolves when nothing is in flight, or after `timeoutMs`. */
    idle: async (timeoutMs: number): Promise<void> => {
      const ended = new Promise<void>((resolve) => void (inFlight === 0 ? resolve() : waiting.add(resolve)))
      await Promise.race([ended, sleep(timeoutMs, undefined, { ref: false })])
    },
  }
}
