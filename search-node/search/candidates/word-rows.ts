import type { IndexReader } from '#core/index/format/reader.ts'
import { codesLayout } from '#core/index/vectors/layout.ts'
import type { FilterBitset } from './filter-bitset.ts'
import type { VectorCandidates } from './source.ts'
import { SCAN_NS_CHEAP } from './vectors/near-cells.ts'
import { PLAN_COSTS } from './vectors/query-plan.ts'
import { nearestAmong } from './vectors/search.ts'

/** Rows by words that are scored by vector for each one that is kept; see decision 0033. */
const WORD_ROWS_PER_KEPT = 8
/** A longer list is not scored whole, unless as many rows are kept. */
const WORD_ROWS_MAX = 4_096

export interface WordRows {
  /**
   * At least `limit` rows; undefined: a scan is to find them, because it is cheap, or too few rows share a word.
   * @param byWords gives the best allowed rows by words, up to a number. @param query unit length.
   */
  nearest(
    query: Float32Array,
    allowed: FilterBitset,
    limit: number,
    byWords: (depth: number) => Uint32Array,
  ): VectorCandidates | undefined
}

/**
 * Finds the rows nearest to a query among the best rows by words, where vectors hash words and their scan takes long.
 * Such vectors have no neighbourhoods, but a row near a query nearly always shares a word with it.
 * @param scanNsCheap a scan that takes no longer is done instead.
 */
export function createWordRows(
  index: Pick<IndexReader, 'hashedWords' | 'passages' | 'dimensions' | 'vectors' | 'rows'>,
  scanNsCheap: number = SCAN_NS_CHEAP,
): WordRows {
  const { hashedWords, passages, dimensions } = index
  const { rowBytes } = codesLayout(passages, dimensions)
  return {
    nearest(query, allowed, limit, byWords) {
      const isCheap = PLAN_COSTS.scanNs({ rows: passages, allowed: allowed.count, rowBytes }) <= scanNsCheap
      if (!hashedWords || isCheap) return undefined
      const kept = keptOf(limit)
      const rows = byWords(Math.max(kept, Math.min(kept * WORD_ROWS_PER_KEPT, WORD_ROWS_MAX)))
      return rows.length < kept ? undefined : { plan: 'words', ...nearestAmong(index, query, rows, kept) }
    },
  }
}

/** Rows that are kept for `limit` wanted ones; see decision 0033. */
function keptOf(limit: number): number {
  return 40 + Math.ceil(1.4 * limit)
}
