import { LRUCache } from 'lru-cache'
import { indexWords } from '#core/index/analysis/index-words.ts'
import { ngramHashes } from '#core/index/analysis/ngrams.ts'
import { ngramScore } from '#core/index/ngrams/coverage.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { SEARCH_NODE_BOUNDS } from '#search-node/bounds.ts'
import type { PassageNgrams, VersionStatistics } from './interfaces.ts'

/** Weight of character n-grams beside words; see decision 0008. */
const NGRAM_WEIGHT = 0.4

/**
 * N-gram rescoring: returns the scores by words, with a share for character n-grams. A row without any word of the question stays at 0.
 * @param lexical scores of the rows by words. @param wanted other rows keep their score.
 */
export function withNgrams(
  { ngrams, rowNgrams, tokens }: Pick<VersionStatistics, 'ngrams' | 'rowNgrams' | 'tokens'>,
  text: string,
  rows: Uint32Array,
  lexical: Float64Array,
  wanted: (row: number) => boolean,
): Float64Array {
  const question = ngrams(text)
  return lexical.map((score, at) => {
    const row = rows[at] ?? 0
    if (score === 0 || !wanted(row)) return score
    const { start, end } = tokens.read(row, row)
    const length = (end(row) - start(row)) / Math.max(1, tokens.description.mean_length)
    return (1 - NGRAM_WEIGHT) * score + NGRAM_WEIGHT * ngramScore(question, rowNgrams(row), length)
  })
}

/**
 * Computes them from the text, which takes longer than all comparison, and keeps those of the most recently used
 * passages, bounded in bytes, one cache per thread and version.
 */
export function createPassageNgrams(passage: (row: number) => Pick<PassageRecord, 'heading' | 'text'>): PassageNgrams {
  const cache = new LRUCache<number, Int32Array>({
    maxSize: SEARCH_NODE_BOUNDS.ngramCacheBytesMax,
    sizeCalculation: (hashes) => hashes.byteLength + ENTRY_BYTES,
  })
  return (row) => {
    const known = cache.get(row)
    if (known !== undefined) return known
    const { heading, text } = passage(row)
    // A copy, because the hashes are the beginning of a larger buffer.
    const hashes = ngramHashes(indexWords(`${heading}\n${text}`)).slice()
    cache.set(row, hashes)
    return hashes
  }
}

/** Of the array and its entry, about. */
const ENTRY_BYTES = 200
