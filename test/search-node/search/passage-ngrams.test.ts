import { expect, test } from 'vitest'
import { ngramHashes } from '#core/index/analysis/ngrams.ts'
import { indexWords } from '#core/index/analysis/index-words.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { SEARCH_NODE_BOUNDS } from '#search-node/bounds.ts'
import { createPassageNgrams } from '#search-node/search/ngram-rescoring.ts'
import { testPassage } from '#test/support/passages.ts'

test('n-grams of a passage are computed once while they are kept, and kept within the bound of bytes', () => {
  const reads: number[] = []
  const text = (row: number): string => `passage ${row} ${'abcdefghij '.repeat(60)}`
  const passage = (row: number): PassageRecord => {
    reads.push(row)
    return { ...testPassage(row), heading: 'Heading', text: text(row) }
  }
  const ngramsOf = createPassageNgrams(passage)
  const expected = ngramHashes(indexWords(`Heading\n${text(0)}`))
  expect([...ngramsOf(0)]).toEqual([...expected])
  ngramsOf(0)
  expect(reads).toEqual([0])
  const rows = Math.ceil(SEARCH_NODE_BOUNDS.ngramCacheBytesMax / expected.byteLength)
  for (let row = 1; row <= rows; row++) ngramsOf(row)
  expect([...ngramsOf(0)]).toEqual([...expected])
  expect(reads.filter((row) => row === 0)).toHaveLength(2)
})
