/**
 * Works on items, at most so many at once, and begins them in order. After the first failure it begins no other and
 * aborts the signal that all of them got.
 * @throws the first failure, or the reason of the signal of the caller, once everything that began has ended.
 */
export async function forEachConcurrently<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T, index: number, signal: AbortSignal) => Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  const failed = new AbortController()
  const either = signal === undefined ? failed.signal : AbortSignal.any([signal, failed.signal])
  const waiting = items.entries()
  async function workOff(): Promise<void> {
    for (const [index, item] of waiting) {
      either.throwIfAborted()
      await work(item, index, either)
    }
  }
  const workers = Array.from({ length: Math.min(items.length, atOnce) }, async () =>
    workOff().catch((error: unknown) => {
      failed.abort(error)
      throw error
    }),
  )
  for (const ended of await Promise.allSettled(workers)) if (ended.status === 'rejected') throw either.reason
}
