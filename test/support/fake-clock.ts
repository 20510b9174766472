import type { Clock } from '#core/embedding/retry.ts'

/** A clock that only its sleepers advance. */
export interface FakeClock extends Clock {
  /** Milliseconds of each sleep. */
  readonly sleeps: number[]
}

export function createFakeClock(): FakeClock {
  let nowMs = 1_000_000
  const sleeps: number[] = []
  return {
    sleeps,
    nowMs: () => nowMs,
    sleep: async (ms, signal) => {
      if (signal.aborted) return
      sleeps.push(ms)
      nowMs += ms
      await Promise.resolve()
    },
  }
}
