/**
 * Resolves or rejects as `work` does, but rejects with `tooLate` after `timeoutMs`. The work continues then, and its
 * later failure is ignored.
 * @param tooLate the error, or its message.
 */
export function withTimeout<T>(timeoutMs: number, tooLate: string | Error, work: Promise<T>): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const late = setTimeout(() => reject(typeof tooLate === 'string' ? new Error(tooLate) : tooLate), timeoutMs)
  work.then(resolve, reject).finally(() => clearTimeout(late))
  return promise
}

/**
 * Runs `work` with a signal that aborts after `timeoutMs`, or with another one. Once the work is done, nothing fires:
 * `AbortSignal.timeout` would, and makes an error with its stack each time.
 * @param work is also told whether the time is over.
 */
export async function abortedAfter<T>(
  timeoutMs: number,
  aborted: AbortSignal,
  work: (signal: AbortSignal, isLate: () => boolean) => Promise<T>,
): Promise<T> {
  const ending = new AbortController()
  const abort = (): void => ending.abort()
  let isLate = false
  const late = setTimeout(() => {
    isLate = true
    abort()
  }, timeoutMs)
  if (aborted.aborted) abort()
  else aborted.addEventListener('abort', abort, { once: true })
  try {
    return await work(ending.signal, () => isLate)
  } finally {
    clearTimeout(late)
    aborted.removeEventListener('abort', abort)
  }
}
