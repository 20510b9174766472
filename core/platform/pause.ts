import { setImmediate as nextTurn } from 'node:timers/promises'

/** Returns a function for long work to call between its steps: it yields to other work, or throws once aborted. */
export function createPause(signal?: AbortSignal): () => Promise<void> {
  return async () => {
    signal?.throwIfAborted()
    await nextTurn()
  }
}
