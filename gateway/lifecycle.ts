/**
 * serving: normal operation. draining: requests are served, and replies ask the connection to close. refusing: new
 * requests get 503 while the last ones finish.
 */
export type Phase = 'serving' | 'draining' | 'refusing'

/** The phase of the gateway between start and stop, and its exchanges in flight. */
export interface Lifecycle {
  phase(): Phase
  advance(to: Phase): void
  inFlight(): number
  /** Call the returned function when the request is over. */
  begin(): () => void
  /** Resolves when nothing is in flight, or after `timeoutMs`. */
  idle(timeoutMs: number): Promise<void>
}

export function createLifecycle(): Lifecycle {
  let phase: Phase = 'serving'
  let inFlight = 0
  const waiting = new Set<() => void>()
  return {
    phase: () => phase,
    advance: (to) => void (phase = to),
    inFlight: () => inFlight,
    begin: () => {
      inFlight++
      let over = false
      return () => {
        if (over) return
        over = true
        inFlight--
        if (inFlight === 0) for (const wake of waiting) wake()
      }
    },
    idle: (timeoutMs) =>
      new Promise((resolve) => {
        if (inFlight === 0) return resolve()
        const done = (): void => {
          clearTimeout(timer)
          waiting.delete(done)
          resolve()
        }
        const timer = setTimeout(done, timeoutMs)
        waiting.add(done)
      }),
  }
}
