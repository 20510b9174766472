import { LRUCache } from 'lru-cache'
import { gramHashes } from '#core/index/analysis/grams.ts'
import { indexWords } from '#core/index/analysis/index-words.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { SEARCH_NODE_BOUNDS } from '#search-node/bounds.ts'

/** Grams of the passage in a row, with repetitions; see `gramHashes`. */
export type PassageGrams = (row: number) => Int32Array

/**
 * Computes them from the text, which takes longer than all comparison, and keeps those of the most recently used
 * passages, bounded in bytes, one cache per thread and version.
 */
export function createPassageGrams(passage: (row: number) => Pick<PassageRecord, 'heading' | 'text'>): PassageGrams {
  const cache = new LRUCache<number, Int32Array>({
    maxSize: SEARCH_NODE_BOUNDS.gramCacheBytesMax,
    sizeCalculation: (hashes) => hashes.byteLength + ENTRY_BYTES,
  })
  return (row) => {
    const known = cache.get(row)
    if (known !== undefined) return known
    const { heading, text } = passage(row)
    // A copy, because the hashes are the beginning of a larger buffer.
    const hashes = gramHashes(indexWords(`${heading}\n${text}`)).slice()
    cache.set(row, hashes)
    return hashes
  }
}

/** Of the array and its entry, about. */
const ENTRY_BYTES = 200
