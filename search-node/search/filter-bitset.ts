import { bitsetWords, dayNumber } from '#core/index/format/layout.ts'
import { BOUNDS } from '#core/platform/bounds.ts'
import type { Filters } from '#core/domain/search.ts'
import type { FacetTable } from '#core/index/format/reader.ts'

/** The rows that a request's filters allow. */
export interface FilterBitset {
  /** Bit row % 32 of word row / 32. */
  readonly bits: Uint32Array
  readonly count: number
}

/** The filters that were last used; least recently used goes first. Bounded, one a thread and version. */
export type FilterCache = Map<string, FilterBitset>

export function createFilterCache(): FilterCache {
  return new Map()
}

/** @param filters every list is exact: what it does not name is not allowed. */
export function filterBitset(filters: Filters, passages: number, table: FacetTable, cache: FilterCache): FilterBitset {
  const key = cacheKey(filters)
  const known = cache.get(key)
  const allowed = known ?? computeFilterBitset(filters, passages, table)
  cache.delete(key)
  cache.set(key, allowed)
  if (cache.size > BOUNDS.filterCacheEntriesMax) {
    const oldest = cache.keys().next()
    if (oldest.done !== true) cache.delete(oldest.value)
  }
  return allowed
}

export function hasRow(bits: Uint32Array, row: number): boolean {
  return (((bits[row >>> 5] ?? 0) >>> (row & 31)) & 1) === 1
}

/** A row is in force on a day iff from <= day < to. */
export function isInForce(
  { inForceFrom, inForceTo }: Pick<FacetTable, 'inForceFrom' | 'inForceTo'>,
  row: number,
  day: number,
): boolean {
  return (inForceFrom[row] ?? 0) <= day && day < (inForceTo[row] ?? 0)
}

/**
 * Of each provision with an allowed revision in force only that; a provision without one keeps all that is allowed. So
 * nothing that has been replaced can stand in a list for want of its successor among the candidates.
 */
export function withoutSuperseded(
  allowed: FilterBitset,
  day: number,
  provisions: Uint32Array,
  facets: FacetTable,
): FilterBitset {
  const known = collapsed.get(allowed)
  if (known?.day === day) return known.allowed
  const rows = listRows(allowed)
  const current = new Set<number>()
  for (const row of rows) if (isInForce(facets, row, day)) current.add(provisions[row] ?? 0)
  const bits = allowed.bits.slice()
  for (const row of rows)
    if (!isInForce(facets, row, day) && current.has(provisions[row] ?? 0))
      bits[row >>> 5] = (bits[row >>> 5] ?? 0) & ~(1 << (row & 31))
  const result = { bits, count: popCount(bits) }
  collapsed.set(allowed, { day, allowed: result })
  return result
}

/** By the filter's own rows, which live as long as they are remembered. */
const collapsed = new WeakMap<FilterBitset, { readonly day: number; readonly allowed: FilterBitset }>()

/** Of the allowed rows those that a bitset names too (bit row % 8 of byte row / 8). */
export function narrowedTo({ bits }: FilterBitset, rows: Uint8Array): FilterBitset {
  const narrowed = bits.map((word, at) => {
    let other = 0
    for (let byte = 0; byte < 4; byte++) other |= (rows[at * 4 + byte] ?? 0) << (byte * 8)
    return word & other
  })
  return { bits: narrowed, count: popCount(narrowed) }
}

/** The allowed rows, ascending. */
export function listRows({ bits, count }: FilterBitset): Uint32Array {
  const rows = new Uint32Array(count)
  let at = 0
  for (let word = 0; word < bits.length; word++) {
    for (let left = bits[word] ?? 0; left !== 0; left &= left - 1)
      rows[at++] = word * 32 + 31 - Math.clz32(left & -left)
  }
  return rows
}

function cacheKey(filters: Filters): string {
  const lists = [
    filters.languages,
    filters.jurisdictions,
    filters.anySubject ? [] : filters.subjects,
    filters.verificationStatuses,
  ]
  return JSON.stringify([
    ...lists.map((list) => list.toSorted()),
    filters.anySubject,
    filters.inForceOn,
    filters.documents.toSorted(),
  ])
}

function computeFilterBitset(filters: Filters, passages: number, table: FacetTable): FilterBitset {
  const { languages, jurisdictions, subjects, statuses } = table.facets
  const bits = union(filters.languages, languages, 0, passages, table)
  intersect(bits, union(filters.jurisdictions, jurisdictions, languages.length, passages, table))
  const subjectsAt = languages.length + jurisdictions.length
  if (!filters.anySubject) intersect(bits, union(filters.subjects, subjects, subjectsAt, passages, table))
  intersect(bits, union(filters.verificationStatuses, statuses, subjectsAt + subjects.length, passages, table))
  if (filters.documents.length > 0) intersect(bits, ofDocuments(filters.documents, passages, table))
  if (filters.inForceOn !== '') keepInForce(bits, dayNumber(filters.inForceOn), table)
  return { bits, count: popCount(bits) }
}

/** Values that the version does not hold allow nothing. */
function union(
  wanted: readonly string[],
  dictionary: readonly string[],
  dictionaryAt: number,
  passages: number,
  table: FacetTable,
): Uint32Array {
  const bits = new Uint32Array(bitsetWords(passages))
  for (const value of new Set(wanted)) {
    const position = dictionary.indexOf(value)
    if (position === -1) continue
    const rows = table.bitset(dictionaryAt + position)
    for (let word = 0; word < bits.length; word++) bits[word] = (bits[word] ?? 0) | (rows[word] ?? 0)
  }
  return bits
}

/** Documents that the version does not hold allow nothing. */
function ofDocuments(wanted: readonly string[], passages: number, { documents }: FacetTable): Uint32Array {
  const bits = new Uint32Array(bitsetWords(passages))
  for (const id of new Set(wanted)) {
    const runs = documents.runsOf(id)
    for (let at = 0; at < runs.length; at += 2) {
      const end = runs[at + 1] ?? 0
      for (let row = runs[at] ?? 0; row < end; row++) bits[row >>> 5] = (bits[row >>> 5] ?? 0) | (1 << (row & 31))
    }
  }
  return bits
}

function intersect(bits: Uint32Array, other: Uint32Array): void {
  for (let word = 0; word < bits.length; word++) bits[word] = (bits[word] ?? 0) & (other[word] ?? 0)
}

function keepInForce(bits: Uint32Array, day: number, facets: FacetTable): void {
  for (let word = 0; word < bits.length; word++) {
    for (let left = bits[word] ?? 0; left !== 0; left &= left - 1) {
      const lowest = left & -left
      const row = word * 32 + 31 - Math.clz32(lowest)
      if (!isInForce(facets, row, day)) bits[word] = (bits[word] ?? 0) & ~lowest
    }
  }
}

function popCount(bits: Uint32Array): number {
  let count = 0
  for (const word of bits) count += countBits(word)
  return count
}

/** Bits that are set in a word of 32. */
export function countBits(word: number): number {
  const pairs = word - ((word >>> 1) & 0x5555_5555)
  const fours = (pairs & 0x3333_3333) + ((pairs >>> 2) & 0x3333_3333)
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24
}
