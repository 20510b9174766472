import { expect, test } from 'vitest'
import { gramHashes } from '#core/index/analysis/grams.ts'
import { indexWords } from '#core/index/analysis/index-words.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { SEARCH_NODE_BOUNDS } from '#search-node/bounds.ts'
import { createPassageGrams } from '#search-node/search/compounds.ts'
import { testPassage } from '#test/support/passages.ts'

test('grams of a passage are computed once while they are kept, and kept within the bound of bytes', () => {
  const reads: number[] = []
  const text = (row: number): string => `passage ${row} ${'abcdefghij '.repeat(60)}`
  const passage = (row: number): PassageRecord => {
    reads.push(row)
    return { ...testPassage(row), heading: 'Heading', text: text(row) }
  }
  const gramsOf = createPassageGrams(passage)
  const expected = gramHashes(indexWords(`Heading\n${text(0)}`))
  expect([...gramsOf(0)]).toEqual([...expected])
  gramsOf(0)
  expect(reads).toEqual([0])
  const rows = Math.ceil(SEARCH_NODE_BOUNDS.gramCacheBytesMax / expected.byteLength)
  for (let row = 1; row <= rows; row++) gramsOf(row)
  expect([...gramsOf(0)]).toEqual([...expected])
  expect(reads.filter((row) => row === 0)).toHaveLength(2)
})
