/**
 * A hash table with open addressing from 32-bit hashes to indexes, because thousands of words of the candidates are
 * looked up in it.
 */
export interface HashTable {
  /** Hashes; 0: a free slot. Signed, because most lookups then need no conversion. */
  readonly keys: Int32Array
  readonly indexes: Int32Array
}

/** @param items whose hashes lead to their indexes; of equal hashes the first counts. */
export function hashTableOf(items: readonly { readonly hashes: readonly number[] }[]): HashTable {
  let count = 0
  for (const { hashes } of items) count += hashes.length
  const slots = 2 ** Math.ceil(Math.log2(count * 16 + 4))
  const keys = new Int32Array(slots)
  const indexes = new Int32Array(slots)
  for (const [index, { hashes }] of items.entries()) {
    for (const hash of hashes) {
      const key = hash | 0
      let at = key & (slots - 1)
      while (keys[at] !== 0 && keys[at] !== key) at = (at + 1) & (slots - 1)
      if (keys[at] === 0) [keys[at], indexes[at]] = [key, index]
    }
  }
  return { keys, indexes }
}

/** Index of a hash; -1: the table does not hold it. */
export function indexIn({ keys, indexes }: HashTable, hash: number): number {
  const mask = keys.length - 1
  const wanted = hash | 0
  for (let at = wanted & mask; ; at = (at + 1) & mask) {
    const key = keys[at] ?? 0
    if (key === 0) return -1
    if (key === wanted) return indexes[at] ?? -1
  }
}
