import { GATEWAY_BOUNDS } from '#gateway/bounds.ts'

/** The slot of a request that the gateway works on. */
export interface Slot {
  /** Runs work that loads another party alone, with the slot free for others. Waits for a slot again afterwards. */
  whileReleased<T>(work: () => Promise<T>): Promise<T>
  /** Called once, when the work is over. */
  release(): void
}

/**
 * Load shedding: how many requests a gateway works on at once. The limit follows the time that the work takes (additive
 * increase, multiplicative decrease), so it fits the machine and what the other gateways ask of the same dependencies.
 * A gateway without a limit would admit requests that nobody finishes in time.
 */
export type ConcurrencyLimit = ReturnType<typeof createConcurrencyLimit>

/** Number of requests that may run at once. It adapts to the measured time of the work. */
function createAdaptiveLimit(now: () => number) {
  let limit: number = GATEWAY_BOUNDS.requestsActiveFirst
  let lastCutMs = Number.NEGATIVE_INFINITY
  return {
    value: () => Math.floor(limit),
    /** @param crowded whether the limit may have held requests back. */
    learn: (beganMs: number, workMs: number, crowded: boolean): void => {
      if (workMs <= GATEWAY_BOUNDS.requestWorkTargetMs) {
        if (crowded) limit = Math.min(GATEWAY_BOUNDS.requestsActiveMax, limit + 1 / limit)
        return
      }
      // Requests that began before the last cut say nothing about the limit after it.
      if (beganMs < lastCutMs) return
      limit = Math.max(GATEWAY_BOUNDS.requestsActiveMin, limit * GATEWAY_BOUNDS.requestsActiveKeptShare)
      lastCutMs = now()
    },
  }
}

/** @param now milliseconds on a monotonic clock. */
export function createConcurrencyLimit(now: () => number = () => performance.now()) {
  const limit = createAdaptiveLimit(now)
  const waiting = new Set<() => void>()
  const returning = new Set<() => void>()
  let admitted = 0
  let active = 0
  let lastLateMs = Number.NEGATIVE_INFINITY

  const isFull = (): boolean => active >= limit.value()
  const isClosed = (): boolean => isFull() || admitted >= GATEWAY_BOUNDS.requestsAdmittedMax
  const isOverloaded = (): boolean => waiting.size > 0 && now() - lastLateMs < GATEWAY_BOUNDS.requestSlotTimeoutMs

  /** Requests that are charged already come first. */
  function grantNext(): void {
    grantSlots(returning, isFull)
    grantSlots(waiting, isClosed)
  }

  const begin = (): void => void active++

  function free(): void {
    active--
    grantNext()
  }

  async function reacquire(): Promise<void> {
    if (!isFull()) return begin()
    await new Promise<void>((resume) => {
      returning.add(() => resume(begin()))
    })
  }

  function admit(): Slot {
    const beganMs = now()
    let releasedMs = 0
    admitted++
    begin()
    return {
      whileReleased: async (work) => {
        const fromMs = now()
        free()
        try {
          return await work()
        } finally {
          await reacquire()
          releasedMs += now() - fromMs
        }
      },
      release: () => {
        limit.learn(beganMs, now() - beganMs - releasedMs, active * 2 >= limit.value())
        admitted--
        free()
      },
    }
  }

  return {
    /** Requests wait, and a moment ago one waited in vain: no further one may wait until all of them have a slot. */
    isOverloaded,
    /**
     * Waits for a slot in order of arrival.
     * @returns undefined: too many wait, the slot did not come in time, or `signal` aborted.
     */
    enter: async (signal: AbortSignal): Promise<Slot | undefined> => {
      if (waiting.size === 0 && !isClosed()) return admit()
      if (isOverloaded() || signal.aborted || waiting.size >= GATEWAY_BOUNDS.requestsWaitingMax) return undefined
      const slot = await awaitSlot(waiting, admit, signal)
      if (slot === undefined && !signal.aborted) lastLateMs = now()
      return slot
    },
    /** Counts of the requests that may run at once, that run, and that wait for a slot. */
    state: () => ({ limit: limit.value(), active, waiting: waiting.size }),
  }
}

function grantSlots(queue: Set<() => void>, isClosed: () => boolean): void {
  for (const begin of queue) {
    if (isClosed()) return
    queue.delete(begin)
    begin()
  }
}

function awaitSlot(waiting: Set<() => void>, admit: () => Slot, signal: AbortSignal): Promise<Slot | undefined> {
  return new Promise((resolve) => {
    const settle = (slot: Slot | undefined): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', giveUp)
      resolve(slot)
    }
    const giveUp = (): void => {
      waiting.delete(begin)
      settle(undefined)
    }
    const begin = (): void => settle(admit())
    const timer = setTimeout(giveUp, GATEWAY_BOUNDS.requestSlotTimeoutMs)
    signal.addEventListener('abort', giveUp, { once: true })
    waiting.add(begin)
  })
}
