import { join } from 'node:path'
import { createLargeMap, type LargeMap } from '#core/index/storage/large-map.ts'
import { wholeFile, type ResidentParts } from '#core/index/storage/resident-parts.ts'
import type { PassageRecord } from './record.ts'

/**
 * `rows.bin`: attributes of every row that a search needs before it reads any passage. First three columns of uint32:
 * the document (numbered by first appearance), the provision (likewise; its revisions share it), and the rank of the
 * row's chunk id. Ranks follow code unit order and break ties. Then a column of bytes: 1 where the previous row has the
 * same revision.
 */
export interface RowTable {
  readonly documents: Uint32Array
  readonly provisions: Uint32Array
  readonly chunkRanks: Uint32Array
  readonly sameRevisionAsPrevious: Uint8Array
}

export function rowTableBytes(rows: number): number {
  return rows * (3 * Uint32Array.BYTES_PER_ELEMENT + 1)
}

/** @param folder of a verified artifact. @throws Error if the file's size does not fit the number of rows. */
export function readRowTable(folder: string, rows: number, parts: ResidentParts): RowTable {
  return tableOf(parts.read(wholeFile(join(folder, 'rows.bin'), rowTableBytes(rows))), rows)
}

function tableOf(bytes: ArrayBufferLike, rows: number): RowTable {
  return {
    documents: new Uint32Array(bytes, 0, rows),
    provisions: new Uint32Array(bytes, rows * 4, rows),
    chunkRanks: new Uint32Array(bytes, rows * 8, rows),
    sameRevisionAsPrevious: new Uint8Array(bytes, rows * 12, rows),
  }
}

export function createRowTableWriter(rows: number) {
  const bytes = new ArrayBuffer(rowTableBytes(rows))
  const table = tableOf(bytes, rows)
  const documents = createLargeMap<number>()
  const provisions = createLargeMap<number>()
  const chunkIds: string[] = []
  let revision = ''
  return {
    /** @returns whether the previous row has the same revision. */
    add(row: number, record: PassageRecord) {
      table.documents[row] = numberOf(documents, record.document.id)
      table.provisions[row] = numberOf(provisions, record.provision)
      chunkIds[row] = record.chunk_id
      const sameRevisionAsPrevious = row > 0 && record.document.revision_id === revision
      revision = record.document.revision_id
      table.sameRevisionAsPrevious[row] = Number(sameRevisionAsPrevious)
      return sameRevisionAsPrevious
    },
    finish() {
      const order = Uint32Array.from(chunkIds.keys()).sort((a, b) =>
        (chunkIds[a] ?? '') < (chunkIds[b] ?? '') ? -1 : 1,
      )
      for (const [rank, row] of order.entries()) table.chunkRanks[row] = rank
      return new Uint8Array(bytes)
    },
  }
}

function numberOf(numbers: LargeMap<number>, key: string): number {
  const known = numbers.get(key)
  if (known !== undefined) return known
  const next = numbers.size
  numbers.set(key, next)
  return next
}
