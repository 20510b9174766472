import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Resolves or rejects as `work` does, but after `ms` rejects with an error that says `tooLate`. The work goes on then,
 * and its later failure is ignored.
 */
export async function within<T>(ms: number, tooLate: string, work: Promise<T>): Promise<T> {
  const answered = new AbortController()
  const late = sleep(ms, undefined, { signal: answered.signal }).then((): never => {
    throw new Error(tooLate)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    answered.abort()
    late.catch(() => undefined)
    work.catch(() => undefined)
  }
}
