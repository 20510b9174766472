import { OperatorError } from '#core/platform/errors.ts'

const INTERRUPTIONS = ['SIGINT', 'SIGTERM'] as const

/**
 * The first interruption ends the work in order, with a sentence; a second one ends the process.
 * @param sentence what was left undone, or goes on, and what to do.
 */
export async function interruptible<T>(sentence: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const interrupted = new AbortController()
  const interrupt = (): void => interrupted.abort(new OperatorError(sentence))
  for (const signal of INTERRUPTIONS) process.once(signal, interrupt)
  try {
    return await work(interrupted.signal)
  } catch (error) {
    // What is aborted may fail with an error of its own.
    interrupted.signal.throwIfAborted()
    throw error
  } finally {
    for (const signal of INTERRUPTIONS) process.off(signal, interrupt)
  }
}
