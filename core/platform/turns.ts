/** Runs one piece of work; waits, in order of arrival, while as many run as may. */
export type InTurn = <T>(work: () => Promise<T>) => Promise<T>

export function createTurns(atOnceMax: number): InTurn {
  const waiting: (() => void)[] = []
  let running = 0
  return async (work) => {
    if (running >= atOnceMax) await new Promise<void>((begin) => waiting.push(begin))
    else running++
    try {
      return await work()
    } finally {
      // A turn is handed over, so that nobody who comes now overtakes.
      const next = waiting.shift()
      if (next === undefined) running--
      else next()
    }
  }
}
