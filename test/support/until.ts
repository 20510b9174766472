import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import { expect } from 'vitest'
import { startAdjustedTimer } from './clock.ts'

/** Time-out of a call that a test expects to succeed: a peer that lives answers far sooner, however busy it is. */
export const CALL_TIMEOUT_MS = 120_000

/** Between two polls: a twentieth of the time waited so far, because some polls ask a whole service. */
const POLL_MIN_MS = 25
const POLL_MAX_MS = 250
const POLL_SHARE = 0.05

/**
 * Time without progress, on the load-adjusted clock. It is longer than every pause that a test waits for: a Sentinel
 * that got no processor time for two seconds decides nothing for half a minute.
 */
const STALLED_AFTER_MS = 120_000

type Awaitable<T> = T | Promise<T>

/** Takes what is there so far. While its printed form changes, the wait goes on. */
export type Seen = (value: unknown) => void

export interface WaitOptions {
  /** Processes that the wait needs; `ended` rejects with the last lines of the log. */
  readonly processes?: readonly { readonly ended: Promise<never> }[]
  readonly stalledAfterMs?: number
}

/**
 * Polls until the answer is neither undefined nor false, and returns it. No total time ends the wait. It fails once
 * nothing that was seen has changed for two minutes of an idle machine, which take longer while the machine is busy.
 * It fails at once if the probe rejects or a process has ended.
 * @throws Error naming what was waited for, and what was seen last.
 */
export async function until<T>(
  what: string,
  probe: (seen: Seen) => Awaitable<T | undefined | false>,
  { processes = [], stalledAfterMs = STALLED_AFTER_MS }: WaitOptions = {},
): Promise<T> {
  using ending = new DisposableStack()
  const stall = ending.adopt(startStall(what, stalledAfterMs), (it) => it.stop())
  const ends = [stall.over, ...processes.map(({ ended }) => ended)]
  const startMs = performance.now()
  for (;;) {
    const found = await Promise.race([probe(stall.seen), ...ends])
    if (found !== undefined && found !== false) return found
    const waitedMs = performance.now() - startMs
    const pauseMs = Math.min(POLL_MAX_MS, Math.max(POLL_MIN_MS, waitedMs * POLL_SHARE))
    await Promise.race([sleep(pauseMs), ...ends])
  }
}

/**
 * Reads until what was read equals what is expected, as `toEqual` compares them. A read that rejects is repeated. What
 * was read counts as seen.
 * @throws the last failed comparison or rejection, where `until` would fail for lack of progress.
 */
export async function expectEventually(
  read: () => Awaitable<unknown>,
  expected: unknown,
  options: WaitOptions = {},
): Promise<void> {
  let thrown: unknown
  const equals = async (seen: Seen): Promise<boolean> => {
    try {
      const found = await read()
      seen(found)
      expect(found).toEqual(expected)
      return true
    } catch (error) {
      thrown = error
      return false
    }
  }
  try {
    await until('what is read equals what is expected', equals, options)
  } catch (error) {
    throw error instanceof StalledError && thrown !== undefined ? thrown : error
  }
}

class StalledError extends Error {
  override readonly name = 'StalledError'
}

/** `over` rejects once nothing that was seen has changed for too long. */
function startStall(what: string, stalledAfterMs: number) {
  const over = Promise.withResolvers<never>()
  // Nobody may be waiting at the moment at which it rejects.
  over.promise.catch(() => undefined)
  let last = 'nothing'
  const timer = startAdjustedTimer(stalledAfterMs, () =>
    over.reject(new StalledError(`no progress for ${stalledAfterMs} ms: ${what}; seen last: ${last}`)),
  )
  return {
    seen: (value: unknown) => {
      const printed = inspect(value, { depth: 5 })
      if (printed !== last) timer.restart()
      last = printed
    },
    over: over.promise,
    stop: () => timer.stop(),
  }
}
