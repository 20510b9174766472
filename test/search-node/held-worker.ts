import type { ScoringWorker } from '#search-node/threads/workers.ts'

export interface HeldWorker {
  readonly worker: ScoringWorker
  /** What the thread was given, in order. */
  readonly started: readonly string[]
  /** Ends the running search or task. */
  finish(): void
}

/** A scoring thread whose tasks end when the test says so; a search for 99 passages fails. */
export function createHeldWorker(): HeldWorker {
  const started: string[] = []
  const held: (() => void)[] = []
  const hold = async (what: string): Promise<void> => {
    started.push(what)
    await new Promise<void>((resolve) => held.push(resolve))
  }
  const worker: ScoringWorker = {
    async search({ input }) {
      await hold(`search ${input.limit}`)
      if (input.limit === 99) throw new Error('the search failed')
      return Uint8Array.of(input.limit)
    },
    async open() {
      await hold('open')
      return new Map()
    },
    close: () => hold('close'),
    async end() {
      started.push('end')
    },
  }
  return { worker, started, finish: () => held.shift()?.() }
}
