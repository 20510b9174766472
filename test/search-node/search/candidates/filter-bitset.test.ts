import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bitsetWords, forEachRow } from '#core/index/bitset.ts'
import { OPEN_END_DAY, dayNumber } from '#core/index/facets/layout.ts'
import { SEARCH_NODE_BOUNDS } from '#search-node/bounds.ts'
import { cachedBitsetsMax, createScopeFilter } from '#search-node/search/candidates/filter-bitset.ts'
import type { FilterBitset, ScopeFilter } from '#search-node/search/candidates/filter-bitset.ts'
import { EVERYTHING } from '#test/support/search.ts'
import { bitsOf } from '#test/support/lexical-index.ts'

interface Row {
  readonly provision: number
  readonly from: number
  readonly to: number
  readonly allowed: boolean
}

const TODAY = '2026-01-01'
const today = dayNumber(TODAY)

function noPassage(): never {
  throw new Error('nothing is withdrawn')
}

interface Columns {
  readonly provisions: Uint32Array
  readonly from: Int32Array
  readonly to: Int32Array
  readonly bits: Uint32Array
}

function filterOf({ provisions, from, to, bits }: Columns): {
  readonly filter: ScopeFilter
  readonly read: () => number
} {
  let read = 0
  const filter = createScopeFilter({
    passage: noPassage,
    passages: provisions.length,
    rows: {
      documents: new Uint32Array(0),
      provisions,
      chunkRanks: new Uint32Array(0),
      sameRevisionAsPrevious: new Uint8Array(0),
    },
    facets: {
      facets: { languages: ['en'], jurisdictions: ['XA'], subjects: [], statuses: ['verified'] },
      bitset() {
        read += 1
        return bits
      },
      documents: { runsOf: () => new Uint32Array() },
      inForceFrom: from,
      inForceTo: to,
      close: () => undefined,
    },
  })
  return { filter, read: () => read }
}

const columnsOf = (rows: readonly Row[]): Columns => ({
  provisions: Uint32Array.from(rows, ({ provision }) => provision),
  from: Int32Array.from(rows, ({ from }) => from),
  to: Int32Array.from(rows, ({ to }) => to),
  bits: bitsOf(rows.length, (row) => rows[row]?.allowed === true),
})

const SCOPE = { filters: EVERYTHING, onlyRows: undefined, withdrawn: [], collapseRevisionsOn: TODAY }

function bitsetOf(rows: readonly Row[], collapseRevisionsOn: string, inForceOn = ''): FilterBitset {
  const { filter } = filterOf(columnsOf(rows))
  return filter.ofScope({ ...SCOPE, filters: { ...EVERYTHING, inForceOn }, collapseRevisionsOn })
}

function rowsOf({ bits, count }: FilterBitset): number[] {
  const rows: number[] = []
  forEachRow(bits, (row) => rows.push(row))
  expect(count).toBe(rows.length)
  return rows
}

const anyRows = fc
  .array(
    fc.record({
      provision: fc.nat({ max: 40 }),
      from: fc.integer({ min: today - 2, max: today + 2 }),
      to: fc.oneof(fc.integer({ min: today - 1, max: today + 3 }), fc.constant(OPEN_END_DAY)),
      allowed: fc.boolean(),
    }),
    { minLength: 1, maxLength: 150 },
  )
  // Provisions are numbered by first appearance.
  .map((rows): readonly Row[] => {
    const numbers = [...new Set(rows.map(({ provision }) => provision))]
    return rows.map((row) => ({ ...row, provision: numbers.indexOf(row.provision) }))
  })

const isCurrent = ({ from, to }: Row): boolean => from <= today && today < to

test('collapsing keeps the allowed rows in force, and all allowed rows of provisions that have none', () => {
  fc.assert(
    fc.property(anyRows, (rows) => {
      const current = new Set(rows.filter((row) => row.allowed && isCurrent(row)).map(({ provision }) => provision))
      const expected = [...rows.entries()]
        .filter(([, row]) => row.allowed && (isCurrent(row) || !current.has(row.provision)))
        .map(([at]) => at)
      expect(rowsOf(bitsetOf(rows, TODAY))).toEqual(expected)
    }),
    { numRuns: 300 },
  )
})

test('a day that narrows keeps the allowed rows in force, whether revisions collapse or not', () => {
  fc.assert(
    fc.property(anyRows, fc.constantFrom('', TODAY), (rows, collapseRevisionsOn) => {
      const expected = [...rows.entries()].filter(([, row]) => row.allowed && isCurrent(row)).map(([at]) => at)
      expect(rowsOf(bitsetOf(rows, collapseRevisionsOn, TODAY))).toEqual(expected)
    }),
  )
})

test('a million rows collapse without an object for each of their provisions', () => {
  const count = 1_000_000
  const { filter } = filterOf({
    provisions: Uint32Array.from({ length: count }, (_, row) => row),
    from: new Int32Array(count).fill(today),
    to: new Int32Array(count).fill(OPEN_END_DAY),
    bits: new Uint32Array(bitsetWords(count)).fill(0xffff_ffff),
  })
  filter.ofFilters(EVERYTHING)
  const before = process.memoryUsage().heapUsed
  expect(filter.ofScope(SCOPE).count).toBe(count)
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(8 * 2 ** 20)
})

test('the cache of filters is bounded in bytes at every size of a version', () => {
  for (const passages of [1, 100_000, 1_000_000, 2 ** 24 + 1]) {
    const bytes = Math.ceil(passages / 32) * 4
    const most = cachedBitsetsMax(passages)
    expect(most).toBeLessThanOrEqual(SEARCH_NODE_BOUNDS.filterCacheEntriesMax)
    expect(most === 2 || most * bytes <= SEARCH_NODE_BOUNDS.filterCacheBytesMax).toBe(true)
  }
})

test('what collapsing leaves of a filter is computed once for a day, and counts as an entry of the cache', () => {
  const rows = Array.from({ length: 40 }, (_, n) => ({ provision: n, from: today, to: OPEN_END_DAY, allowed: true }))
  const { filter, read } = filterOf(columnsOf(rows))
  const first = filter.ofScope({ ...SCOPE })
  const reads = read()
  expect(filter.ofScope({ ...SCOPE }).bits).toBe(first.bits)
  expect(read()).toBe(reads)
  for (let day = 0; day < 3 * SEARCH_NODE_BOUNDS.filterCacheEntriesMax; day++)
    filter.ofScope({ ...SCOPE, collapseRevisionsOn: new Date(day * 86_400_000).toISOString().slice(0, 10) })
  expect(filter.cachedFilters).toBe(SEARCH_NODE_BOUNDS.filterCacheEntriesMax)
})
