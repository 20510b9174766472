import { LRUCache } from 'lru-cache'
import { addRow, bitsetWords, countRows, forEachRow, hasRow, intersect, unite } from '#core/index/bitset.ts'
import { dayNumber } from '#core/index/facets/layout.ts'
import type { FacetsReader } from '#core/index/facets/reader.ts'
import type { IndexReader } from '#core/index/format/reader.ts'
import type { Filters, Withdrawn } from '#core/domain/search.ts'
import { SEARCH_NODE_BOUNDS } from '#search-node/bounds.ts'
import type { SearchScope } from '#search-node/search/interfaces.ts'
import { SEARCH_BOUNDS } from '#core/domain/bounds.ts'

/** The rows that a request's filters allow. */
export interface FilterBitset {
  /** Bit row % 32 of word row / 32. */
  readonly bits: Uint32Array
  readonly count: number
  /** Rows that the filters allow and that are withdrawn; undefined: nothing is withdrawn. */
  readonly withdrawn?: Uint32Array
}

/** Turns filters into bitsets of one index. */
export type ScopeFilter = ReturnType<typeof createScopeFilter>

/**
 * Creates a cache that is bounded in entries and bytes, one per thread and version; the least recently used bitset is
 * evicted first.
 */
export function createScopeFilter(index: Pick<IndexReader, 'passages' | 'facets' | 'rows' | 'passage'>) {
  const { passages, facets, rows } = index
  const withdrawnRows = createWithdrawnRows(index)
  const cache = new LRUCache<string, FilterBitset>({ max: cachedBitsetsMax(passages) })
  function recall(key: string, make: () => FilterBitset): FilterBitset {
    const known = cache.get(key) ?? make()
    cache.set(key, known)
    return known
  }
  const ofFilters = (filters: Filters): FilterBitset =>
    recall(cacheKey(filters), () => filterBitset(filters, passages, facets))
  function ofScope({ withdrawn, ...scope }: SearchScope): FilterBitset {
    return withdrawn.length === 0 ? allowedIn(scope) : withoutRows(allowedIn(scope), withdrawnRows(withdrawn))
  }
  function allowedIn({ filters, onlyRows, collapseRevisionsOn: day }: Omit<SearchScope, 'withdrawn'>): FilterBitset {
    const collapse = (allowed: FilterBitset): FilterBitset =>
      withoutSuperseded(allowed, dayNumber(day), rows.provisions, facets)
    // If every allowed row is in force on a day, no allowed row is superseded.
    const collapses = day !== '' && filters.inForceOn === ''
    if (onlyRows === undefined)
      return collapses ? recall(`${day} ${cacheKey(filters)}`, () => collapse(ofFilters(filters))) : ofFilters(filters)
    const narrowed = narrowedTo(ofFilters(filters), onlyRows)
    return collapses ? collapse(narrowed) : narrowed
  }
  return {
    /** Every list is exact: a value that it does not name is not allowed. The most recently used filters are cached. */
    ofFilters,
    ofScope,
    get cachedFilters() {
      return cache.size
    },
  }
}

/** At least a filter and what collapsing leaves of it, however large they are. */
export function cachedBitsetsMax(passages: number): number {
  const bytes = bitsetWords(passages) * Uint32Array.BYTES_PER_ELEMENT
  return Math.max(
    2,
    Math.min(SEARCH_NODE_BOUNDS.filterCacheEntriesMax, Math.floor(SEARCH_NODE_BOUNDS.filterCacheBytesMax / bytes)),
  )
}

/**
 * Drops superseded rows: a provision with an allowed revision in force keeps only that revision. A provision without
 * one keeps all its allowed rows. A superseded row is therefore never listed because its successor is missing from the
 * candidates.
 */
function withoutSuperseded(
  allowed: FilterBitset,
  day: number,
  provisions: Uint32Array,
  facets: FacetsReader,
): FilterBitset {
  const bits = withoutOthers(allowed.bits, inForceBits(allowed.bits, day, facets), provisions)
  return { bits, count: countRows(bits) }
}

function withoutRows({ bits }: FilterBitset, rows: Uint32Array): FilterBitset {
  const kept = bits.map((word, at) => word & ~(rows[at] ?? 0))
  return { bits: kept, count: countRows(kept), withdrawn: bits.map((word, at) => word & (rows[at] ?? 0)) }
}

/** The allowed rows that a second bitset also names (bit row % 8 of byte row / 8). */
function narrowedTo({ bits }: FilterBitset, rows: Uint8Array): FilterBitset {
  const narrowed = bits.map((word, at) => {
    let other = 0
    for (let byte = 0; byte < 4; byte++) other |= (rows[at * 4 + byte] ?? 0) << (byte * 8)
    return word & other
  })
  return { bits: narrowed, count: countRows(narrowed) }
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

/** @param filters every list is exact: a value that it does not name is not allowed. */
export function filterBitset(filters: Filters, passages: number, reader: FacetsReader): FilterBitset {
  const { languages, jurisdictions, subjects, statuses } = reader.facets
  const bits = union(filters.languages, languages, 0, passages, reader)
  intersect(bits, union(filters.jurisdictions, jurisdictions, languages.length, passages, reader))
  const subjectsAt = languages.length + jurisdictions.length
  if (!filters.anySubject) intersect(bits, union(filters.subjects, subjects, subjectsAt, passages, reader))
  intersect(bits, union(filters.verificationStatuses, statuses, subjectsAt + subjects.length, passages, reader))
  if (filters.documents.length > 0) intersect(bits, ofDocuments(filters.documents, passages, reader))
  const held = filters.inForceOn === '' ? bits : inForceBits(bits, dayNumber(filters.inForceOn), reader)
  return { bits: held, count: countRows(held) }
}

/** Rows that hold one of the values. Those that the version does not hold allow nothing. */
export function union(
  wanted: readonly string[],
  dictionary: readonly string[],
  dictionaryAt: number,
  passages: number,
  reader: FacetsReader,
): Uint32Array {
  const bits = new Uint32Array(bitsetWords(passages))
  for (const value of new Set(wanted)) {
    const position = dictionary.indexOf(value)
    if (position !== -1) unite(bits, reader.bitset(dictionaryAt + position))
  }
  return bits
}

/** Documents that the version does not hold allow nothing. */
function ofDocuments(wanted: readonly string[], passages: number, { documents }: FacetsReader): Uint32Array {
  const bits = new Uint32Array(bitsetWords(passages))
  for (const id of new Set(wanted)) {
    const runs = documents.runsOf(id)
    for (let at = 0; at < runs.length; at += 2)
      for (let row = runs[at] ?? 0; row < (runs[at + 1] ?? 0); row++) addRow(bits, row)
  }
  return bits
}

function inForceBits(bits: Uint32Array, day: number, { inForceFrom, inForceTo }: FacetsReader): Uint32Array {
  const held = new Uint32Array(bits.length)
  for (let word = 0; word < bits.length; word++) {
    let kept = 0
    for (let left = bits[word] ?? 0; left !== 0; left &= left - 1) {
      const bit = 31 - Math.clz32(left & -left)
      const row = word * 32 + bit
      if ((inForceFrom[row] ?? 0) <= day && day < (inForceTo[row] ?? 0)) kept |= 1 << bit
    }
    held[word] = kept
  }
  return held
}

/**
 * The rows of a bitset that are current, and those of provisions that have no current row.
 * @param current a subset of the bitset. @param provisions of every row, each below the number of rows.
 */
function withoutOthers(bits: Uint32Array, current: Uint32Array, provisions: Uint32Array): Uint32Array {
  const withCurrent = new Uint32Array(bitsetWords(provisions.length))
  forEachRow(current, (row) => addRow(withCurrent, provisions[row] ?? 0))
  const kept = current.slice()
  for (let word = 0; word < bits.length; word++) {
    for (let left = (bits[word] ?? 0) & ~(current[word] ?? 0); left !== 0; left &= left - 1) {
      const row = word * 32 + 31 - Math.clz32(left & -left)
      if (!hasRow(withCurrent, provisions[row] ?? 0)) addRow(kept, row)
    }
  }
  return kept
}

/** The rows of a filter, ascending. */
export function listRows({ bits, count }: FilterBitset): Uint32Array {
  const rows = new Uint32Array(count)
  let at = 0
  forEachRow(bits, (row) => {
    rows[at++] = row
  })
  return rows
}

/** Finds the rows of an index that are withdrawn: bit row % 32 of word row / 32. */
type WithdrawnRows = (withdrawn: readonly Withdrawn[]) => Uint32Array

/**
 * Reads the passages of a document that a withdrawal names, once, and keeps the rows that were found. What is withdrawn
 * later costs only its own document.
 */
function createWithdrawnRows(index: Pick<IndexReader, 'passages' | 'facets' | 'passage'>): WithdrawnRows {
  const { passages, facets, passage } = index
  const found = new LRUCache<string, readonly number[]>({ max: 2 * SEARCH_BOUNDS.withdrawalsMax })
  let last = { key: '', bits: new Uint32Array(bitsetWords(passages)) }
  return (withdrawn) => {
    const key = JSON.stringify(withdrawn)
    if (key === last.key) return last.bits
    const bits = new Uint32Array(bitsetWords(passages))
    for (const [document, targets] of Map.groupBy(withdrawn, (target) => target.document)) {
      let rows: readonly DocumentRow[] | undefined
      for (const target of targets) {
        const name = JSON.stringify(target)
        const known = found.get(name) ?? matching(target, (rows ??= rowsOf(document, facets, passage)))
        found.set(name, known)
        for (const row of known) addRow(bits, row)
      }
    }
    last = { key, bits }
    return bits
  }
}

interface DocumentRow {
  readonly row: number
  readonly chunkId: string
  readonly provision: string
  readonly record: string
}

function rowsOf(document: string, facets: IndexReader['facets'], passage: IndexReader['passage']): DocumentRow[] {
  const rows: DocumentRow[] = []
  const runs = facets.documents.runsOf(document)
  for (let at = 0; at < runs.length; at += 2)
    for (let row = runs[at] ?? 0; row < (runs[at + 1] ?? 0); row++) {
      const { chunk_id: chunkId, provision, source_id: sourceId, document: shown } = passage(row)
      rows.push({ row, chunkId, provision, record: `${shown.revision_id} ${sourceId}` })
    }
  return rows
}

/** A provision covers every part of its records, however many parts another version cuts them into. */
function matching({ provisions, chunkId }: Withdrawn, rows: readonly DocumentRow[]): readonly number[] {
  if (chunkId !== '') return rows.filter((one) => one.chunkId === chunkId).map(({ row }) => row)
  if (provisions.length === 0) return rows.map(({ row }) => row)
  const named = new Set(provisions)
  const records = new Set(rows.filter(({ provision }) => named.has(provision)).map(({ record }) => record))
  return rows.filter(({ record }) => records.has(record)).map(({ row }) => row)
}
