import { LRUCache } from 'lru-cache'
import { addRow, bitsetWords } from '#core/index/bitset.ts'
import type { IndexReader } from '#core/index/format/reader.ts'
import { SEARCH_BOUNDS } from '#core/domain/bounds.ts'
import type { Withdrawn } from '#core/domain/search.ts'

/** Finds the rows of an index that are withdrawn: bit row % 32 of word row / 32. */
export type WithdrawnRows = (withdrawn: readonly Withdrawn[]) => Uint32Array

/**
 * Reads the passages of a document that a withdrawal names, once, and keeps the rows that were found. What is withdrawn
 * later costs only its own document.
 */
export function createWithdrawnRows(index: Pick<IndexReader, 'passages' | 'facets' | 'passage'>): WithdrawnRows {
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
  /** Equal for the parts of one record. */
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
