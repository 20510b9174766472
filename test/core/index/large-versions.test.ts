import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { addRow, bitsetWords, countRows, forEachRow, hasRow, removeRow } from '#core/index/bitset.ts'
import { documentsLayout } from '#core/index/facets/documents.ts'
import { facetsLayout } from '#core/index/facets/layout.ts'
import { createForwardWriter } from '#core/index/lexical/forward-writer.ts'
import { PAIR_BITS_MAX } from '#core/index/lexical/forward-layout.ts'
import { lexicalTermsLayout } from '#core/index/lexical/layout.ts'
import { passageOffsetsBytes } from '#core/index/passages/layout.ts'
import { rowTableBytes } from '#core/index/passages/row-table.ts'
import { referencesLayout } from '#core/index/references/layout.ts'
import { createLargeMap } from '#core/index/storage/large-map.ts'

/** One row beyond what a Map of V8 holds. */
const ROWS = 2 ** 24 + 1

describe('a version of more than 2^24 rows', () => {
  test('has layouts whose offsets do not wrap, also beyond 2^32 bytes', () => {
    const facets = { languages: ['en'], jurisdictions: ['XA'], subjects: ['tax'], statuses: ['verified'] }
    const bitset = 4 * (2 ** 19 + 1)
    expect(facetsLayout(ROWS, facets)).toEqual({
      bitsets: 4,
      fromOffset: 4 * bitset,
      toOffset: 4 * bitset + 4 * ROWS,
      bytes: 4 * bitset + 8 * ROWS,
    })
    expect(facetsLayout(2 ** 32, facets).bytes).toBe(4 * 2 ** 29 + 2 ** 35)
    expect(rowTableBytes(ROWS)).toBe(13 * ROWS)
    expect(rowTableBytes(2 ** 30)).toBe(13 * 2 ** 30)
    expect(passageOffsetsBytes(2 ** 30)).toBe(8 * 2 ** 30 + 8)
    expect(documentsLayout(2 ** 29).runsOffset).toBe(2 ** 29 * 20 + 4)
    expect(referencesLayout({ terms: 2 ** 30, postings: 2 ** 31, text_bytes: 2 ** 32 })).toEqual({
      rowsOffset: 2 ** 33 + 8,
      textOffset: 2 ** 33 + 8 + 2 ** 33,
      bytes: 2 ** 33 + 8 + 2 ** 33 + 2 ** 32,
    })
    expect(lexicalTermsLayout({ terms: 2 ** 31, blocks_bytes: 2 ** 32 - 1, first_terms_bytes: 2 ** 31 }).bytes).toBe(
      2 ** 32 - 1 + 2 ** 31 + (2 ** 26 + 1) * 8,
    )
  })

  test('has bitsets with a bit for each row', () => {
    const bits = new Uint32Array(bitsetWords(ROWS))
    const rows = [0, 31, 32, 2 ** 24 - 1, 2 ** 24]
    for (const row of rows) addRow(bits, row)
    const found: number[] = []
    forEachRow(bits, (row) => found.push(row))
    expect(found).toEqual(rows)
    removeRow(bits, 2 ** 24)
    expect([hasRow(bits, 2 ** 24), hasRow(bits, 2 ** 24 - 1), countRows(bits)]).toEqual([false, true, 4])
  })

  test('has a table of pairs of bounded size', () => {
    expect(createForwardWriter(ROWS).finish().description.pair_bits).toBe(PAIR_BITS_MAX)
  })
})

test('words that do not fit the offsets of the forward index are refused, never wrapped', () => {
  const writer = createForwardWriter(2, 6)
  const terms = { language: 'xx', heading: [], text: ['anchor', 'ballast'] }
  writer.add(terms, false)
  writer.add(terms, false)
  const full = createForwardWriter(2, 5)
  full.add(terms, false)
  expect(() => full.add(terms, false)).toThrow('do not fit the forward index')
})

test('a large map is a map, whatever the size of its parts', () => {
  const steps = fc.array(fc.tuple(fc.string({ maxLength: 2 }), fc.nat({ max: 9 })), { maxLength: 60 })
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 7 }), (sets, partMax) => {
      const [large, map] = [createLargeMap<number>(partMax), new Map<string, number>()]
      for (const [key, value] of sets) {
        large.set(key, value)
        map.set(key, value)
        expect(large.size).toBe(map.size)
        expect(large.get(key)).toBe(value)
      }
      expect([...large.entries()]).toEqual([...map])
      expect(large.get('absent')).toBeUndefined()
    }),
  )
})
