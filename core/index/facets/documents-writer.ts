import { createLargeMap } from '#core/index/storage/large-map.ts'
import { DOCUMENT_ID_BYTES, documentIdBytes, documentsLayout } from './documents-layout.ts'

/** Collects the rows of each document as they are added and returns `documents.bin`; see `documents-layout.ts`. */
export interface DocumentsWriter {
  readonly count: number
  add(row: number, documentId: string): void
  finish(): Uint8Array
}

export function createDocumentsWriter(): DocumentsWriter {
  /** Per document: first row, row after the last, first row, … */
  const runs = createLargeMap<number[]>()
  return {
    get count() {
      return runs.size
    },
    add(row, documentId) {
      const known = runs.get(documentId)
      if (known === undefined) runs.set(documentId, [row, row + 1])
      else if (known.at(-1) === row) known[known.length - 1] = row + 1
      else known.push(row, row + 1)
    },
    finish() {
      const documents = [...runs.entries()]
        .map(([id, ofDocument]) => ({ id: documentIdBytes(id), ofDocument }))
        .sort((a, b) => Buffer.compare(a.id, b.id))
      const { firstRunsOffset, runsOffset } = documentsLayout(documents.length)
      const bytes = Buffer.alloc(runsOffset + documents.reduce((sum, { ofDocument }) => sum + ofDocument.length, 0) * 4)
      let run = 0
      for (const [at, { id, ofDocument }] of documents.entries()) {
        bytes.set(id, at * DOCUMENT_ID_BYTES)
        bytes.writeUInt32LE(run, firstRunsOffset + at * 4)
        for (const [side, row] of ofDocument.entries()) bytes.writeUInt32LE(row, runsOffset + run * 8 + side * 4)
        run += ofDocument.length / 2
      }
      bytes.writeUInt32LE(run, firstRunsOffset + documents.length * 4)
      return bytes
    },
  }
}
