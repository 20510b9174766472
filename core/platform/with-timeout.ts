/**
 * Resolves or rejects as `work` does, but after `ms` rejects with an error that says `tooLate`. The work goes on then,
 * and its later failure is ignored.
 */
export function withTimeout<T>(ms: number, tooLate: string, work: Promise<T>): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const late = setTimeout(() => reject(new Error(tooLate)), ms)
  work.then(resolve, reject).finally(() => clearTimeout(late))
  return promise
}
