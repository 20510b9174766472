import { GATEWAY_BOUNDS } from '#gateway/bounds.ts'

/** A request that the gateway has taken on. */
export interface Turn {
  /** Awaits a party whose slowness is no load of the service. Others are worked on meanwhile, and wait afterwards. */
  aside<T>(work: () => Promise<T>): Promise<T>
  /** To be called once, when the work is over. */
  end(): void
}

/**
 * Load shedding: how many requests a gateway works on at once. The limit follows the time that the work takes (additive
 * increase, multiplicative decrease), so it fits the machine and what the other gateways ask of the same dependencies.
 * A gateway that took on more would admit requests that nobody finishes in time.
 */
export interface Capacity {
  /** Requests wait, and a moment ago one waited in vain: no further one may wait until all of them have their turn. */
  isOverloaded(): boolean
  /**
   * Waits its turn in order of arrival.
   * @returns undefined: too many wait, the turn did not come in time, or `signal` aborted.
   */
  enter(signal: AbortSignal): Promise<Turn | undefined>
  /** Requests that may be worked on at once, that are, and that wait for their turn. */
  state(): { readonly limit: number; readonly workedOn: number; readonly waiting: number }
}

/** How many requests may be worked on at once. */
interface AdaptiveLimit {
  value(): number
  /** @param crowded whether the limit may have held requests back. */
  learn(beganMs: number, workMs: number, crowded: boolean): void
}

function createAdaptiveLimit(now: () => number): AdaptiveLimit {
  let limit: number = GATEWAY_BOUNDS.requestsWorkedOnFirst
  let lastCutMs = Number.NEGATIVE_INFINITY
  return {
    value: () => Math.floor(limit),
    learn: (beganMs, workMs, crowded) => {
      if (workMs <= GATEWAY_BOUNDS.requestWorkTargetMs) {
        if (crowded) limit = Math.min(GATEWAY_BOUNDS.requestsWorkedOnMax, limit + 1 / limit)
        return
      }
      // Requests that began before the last cut say nothing about the limit after it.
      if (beganMs < lastCutMs) return
      limit = Math.max(GATEWAY_BOUNDS.requestsWorkedOnMin, limit * GATEWAY_BOUNDS.requestsWorkedOnKeptShare)
      lastCutMs = now()
    },
  }
}

/** @param now milliseconds on a monotonic clock. */
export function createCapacity(now: () => number = () => performance.now()): Capacity {
  const limit = createAdaptiveLimit(now)
  const waiting = new Set<() => void>()
  const returning = new Set<() => void>()
  let underWay = 0
  let workedOn = 0
  let lastLateMs = Number.NEGATIVE_INFINITY

  const isFull = (): boolean => workedOn >= limit.value()
  const takesNoMore = (): boolean => isFull() || underWay >= GATEWAY_BOUNDS.requestsUnderWayMax
  const isOverloaded = (): boolean => waiting.size > 0 && now() - lastLateMs < GATEWAY_BOUNDS.requestTurnTimeoutMs

  /** What is charged already comes first. */
  function nextTurns(): void {
    letIn(returning, isFull)
    letIn(waiting, takesNoMore)
  }

  const begin = (): void => void workedOn++

  function pause(): void {
    workedOn--
    nextTurns()
  }

  async function comeBack(): Promise<void> {
    if (!isFull()) return begin()
    await new Promise<void>((resume) => {
      returning.add(() => resume(begin()))
    })
  }

  function takeOn(): Turn {
    const beganMs = now()
    let asideMs = 0
    underWay++
    begin()
    return {
      aside: async (work) => {
        const fromMs = now()
        pause()
        try {
          return await work()
        } finally {
          await comeBack()
          asideMs += now() - fromMs
        }
      },
      end: () => {
        limit.learn(beganMs, now() - beganMs - asideMs, workedOn * 2 >= limit.value())
        underWay--
        pause()
      },
    }
  }

  return {
    isOverloaded,
    enter: async (signal) => {
      if (waiting.size === 0 && !takesNoMore()) return takeOn()
      if (isOverloaded() || signal.aborted || waiting.size >= GATEWAY_BOUNDS.requestsWaitingMax) return undefined
      const turn = await awaitTurn(waiting, takeOn, signal)
      if (turn === undefined && !signal.aborted) lastLateMs = now()
      return turn
    },
    state: () => ({ limit: limit.value(), workedOn, waiting: waiting.size }),
  }
}

function letIn(queue: Set<() => void>, isClosed: () => boolean): void {
  for (const begin of queue) {
    if (isClosed()) return
    queue.delete(begin)
    begin()
  }
}

function awaitTurn(waiting: Set<() => void>, takeOn: () => Turn, signal: AbortSignal): Promise<Turn | undefined> {
  return new Promise((resolve) => {
    const settle = (turn: Turn | undefined): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', giveUp)
      resolve(turn)
    }
    const giveUp = (): void => {
      waiting.delete(begin)
      settle(undefined)
    }
    const begin = (): void => settle(takeOn())
    const timer = setTimeout(giveUp, GATEWAY_BOUNDS.requestTurnTimeoutMs)
    signal.addEventListener('abort', giveUp, { once: true })
    waiting.add(begin)
  })
}
