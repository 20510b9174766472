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

/** A signal that aborts after a time. Once disposed of it never does, as `AbortSignal.timeout` would, with a stack. */
export function timeLimit(ms: number): Disposable & { readonly signal: AbortSignal } {
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(), ms)
  return { signal: late.signal, [Symbol.dispose]: () => clearTimeout(timer) }
}
