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
    async search(searches) {
      const replies: (Uint8Array | Error)[] = []
      for (const { input } of searches) {
        await hold(`search ${input.limit}`)
        replies.push(input.limit === 99 ? new Error('the search failed') : Uint8Array.of(input.limit))
      }
      return replies
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
