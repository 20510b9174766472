/** V8 refuses a Map of more than 2^24 entries. */
const PART_ENTRIES_MAX = 2 ** 23

/** A map by text without a bound on its entries, which come in the order of their first `set`. */
export type LargeMap<Value> = ReturnType<typeof createLargeMap<Value>>

/** @param partMax entries of one part; a test sets it. */
export function createLargeMap<Value>(partMax = PART_ENTRIES_MAX) {
  const parts = [new Map<string, Value>()]
  const partOf = (key: string): Map<string, Value> | undefined => parts.findLast((part) => part.has(key))
  return {
    get size() {
      return parts.reduce((sum, part) => sum + part.size, 0)
    },
    get: (key: string) => partOf(key)?.get(key),
    set(key: string, value: Value) {
      const known = partOf(key)
      if (known !== undefined) {
        known.set(key, value)
        return
      }
      if ((parts.at(-1)?.size ?? 0) >= partMax) parts.push(new Map())
      parts.at(-1)?.set(key, value)
    },
    *entries() {
      for (const part of parts) yield* part
    },
  }
}
