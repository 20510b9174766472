import { LRUCache } from 'lru-cache'

/** Returns a function that opens what is asked for on first use and keeps the `max` that were used last. */
export function openedOnFirstUse<K, T extends object>(
  max: number,
  nameOf: (key: K) => string,
  open: (key: K) => T,
): (key: K) => T {
  const opened = new LRUCache<string, T>({ max })
  return (key) => {
    const name = nameOf(key)
    const found = opened.get(name) ?? open(key)
    opened.set(name, found)
    return found
  }
}
