export interface GroupCommitLimits {
  readonly itemsMax: number
  /** Concurrent runs. Calls that arrive meanwhile wait and share a run. */
  readonly runsMax: number
  /** Without it, a run begins as soon as one may. */
  readonly collect?: Collecting
}

/** When a run waits for further calls. */
export interface Collecting {
  /** Calls that a run waits for; asked at each call. At most one: nothing is waited for. */
  readonly itemsWanted: () => number
  /** Time after which a run begins with fewer. */
  readonly waitMaxMs: number
}

interface Waiting<Item, Result> {
  readonly item: Item
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

/**
 * Group commit: calls that arrive while others are under way are run together, in order of arrival. A failed run fails
 * for every item of it.
 * @param run returns one result for each item, in their order.
 */
export function groupCommit<Item, Result>(
  run: (items: readonly Item[]) => Promise<readonly Result[]>,
  { itemsMax, runsMax, collect }: GroupCommitLimits,
): (item: Item) => Promise<Result> {
  const waiting: Waiting<Item, Result>[] = []
  let running = 0
  let begins = false
  let isDue = false
  let timer: NodeJS.Timeout | undefined

  async function runTogether(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await run(batch.map(({ item }) => item))
      if (results.length !== batch.length)
        throw new Error(`${batch.length} items were run together and ${results.length} results came`)
      for (const [at, result] of results.entries()) batch[at]?.resolve(result)
    } catch (error) {
      for (const { reject } of batch) reject(error)
    } finally {
      running--
      begin()
    }
  }

  const areEnough = (): boolean =>
    isDue || collect === undefined || waiting.length >= Math.min(collect.itemsWanted(), itemsMax)

  function begin(): void {
    begins = false
    while (running < runsMax && waiting.length > 0 && areEnough()) {
      running++
      void runTogether(waiting.splice(0, itemsMax))
      clearTimeout(timer)
      timer = undefined
      isDue = false
    }
    if (waiting.length > 0 && !isDue && collect !== undefined) timer ??= setTimeout(becomeDue, collect.waitMaxMs)
  }

  function becomeDue(): void {
    timer = undefined
    isDue = true
    begin()
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      if (begins || running >= runsMax) return
      // Calls in the same turn of the event loop share a run.
      begins = true
      setImmediate(begin)
    })
}
