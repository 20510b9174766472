import { availableParallelism, loadavg } from 'node:os'

const SAMPLE_EVERY_MS = 250

/** A longer step means that this process did not run; the rest of it does not count. */
const STEP_MAX_MS = 4 * SAMPLE_EVERY_MS

/**
 * A clock that runs slower while more tasks want to run than there are cores. The returned function takes real time and
 * the number of such tasks, and returns the milliseconds since `startMs`.
 */
export function createLoadAdjustedClock(cores: number, startMs: number): (nowMs: number, tasks: number) => number {
  let lastMs = startMs
  let adjustedMs = 0
  return (nowMs, tasks) => {
    const stepMs = Math.min(nowMs - lastMs, STEP_MAX_MS)
    lastMs = nowMs
    adjustedMs += stepMs / Math.max(1, tasks / cores)
    return adjustedMs
  }
}

const advance = createLoadAdjustedClock(availableParallelism(), performance.now())
setInterval(adjustedNowMs, SAMPLE_EVERY_MS).unref()

/**
 * Milliseconds that an idle machine would have needed: under a load of 10 on two cores, a fifth of real time. The load
 * is the kernel's average over one minute, which on Linux includes tasks that wait for the disk.
 */
export function adjustedNowMs(): number {
  return advance(performance.now(), loadavg()[0] ?? 0)
}

/** Calls `onOver` once, when so much time of the load-adjusted clock has passed since the start or the last restart. */
export function startAdjustedTimer(afterMs: number, onOver: () => void) {
  let sinceMs = adjustedNowMs()
  const timer = setInterval(
    () => {
      if (adjustedNowMs() - sinceMs < afterMs) return
      clearInterval(timer)
      onOver()
    },
    Math.min(afterMs, SAMPLE_EVERY_MS),
  )
  return { restart: () => void (sinceMs = adjustedNowMs()), stop: () => clearInterval(timer) }
}
