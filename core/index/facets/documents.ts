import { statSync } from 'node:fs'
import { join } from 'node:path'
import { createLargeMap } from '#core/index/storage/large-map.ts'
import { firstIndex } from '#core/platform/first-index.ts'
import { wholeFile, type ResidentParts } from '#core/index/storage/resident-parts.ts'

const DOCUMENT_ID_BYTES = 16

/**
 * Layout of `documents.bin`. First documents × 16 bytes: the ids, ascending. Then (documents + 1) uint32: the first run
 * of each document, and the end. Then the runs, two uint32 each: the first row and the row after the last.
 */
export function documentsLayout(documents: number): { readonly firstRunsOffset: number; readonly runsOffset: number } {
  const firstRunsOffset = documents * DOCUMENT_ID_BYTES
  return { firstRunsOffset, runsOffset: firstRunsOffset + (documents + 1) * 4 }
}

/** The 16 bytes of a UUID in its usual form. */
function documentIdBytes(id: string): Buffer {
  return Buffer.from(id.replaceAll('-', ''), 'hex')
}

/** Reads the rows of each document. @param folder of a verified artifact. @param documents number of documents in the manifest. */
export function readDocumentTable(folder: string, documents: number, parts: ResidentParts) {
  const path = join(folder, 'documents.bin')
  const bytes = parts.read(wholeFile(path, statSync(path).size))
  const { firstRunsOffset, runsOffset } = documentsLayout(documents)
  const ids = Buffer.from(bytes, 0, firstRunsOffset)
  const firstRuns = new Uint32Array(bytes, firstRunsOffset, documents + 1)
  const runs = new Uint32Array(bytes, runsOffset)
  return {
    /**
     * Returns the first row and the row after the last of each run, interleaved. Empty for a document that the version
     * does not hold.
     */
    runsOf(documentId: string): Uint32Array {
      const wanted = documentIdBytes(documentId)
      const orderAt = (at: number): number => wanted.compare(ids, at * DOCUMENT_ID_BYTES, (at + 1) * DOCUMENT_ID_BYTES)
      const found = firstIndex(documents, (at) => orderAt(at) <= 0)
      if (found === documents || orderAt(found) !== 0) return new Uint32Array()
      return runs.subarray((firstRuns[found] ?? 0) * 2, (firstRuns[found + 1] ?? 0) * 2)
    },
  }
}

/** Returns the first fault of `documents.bin` as one sentence, or undefined if there is none. */
export function documentsFault(bytes: Buffer, rows: number, documents: number): string | undefined {
  const { firstRunsOffset, runsOffset } = documentsLayout(documents)
  if (bytes.length < runsOffset) return 'documents.bin does not fit the number of documents.'
  const runs = bytes.readUInt32LE(runsOffset - 4)
  if (bytes.length !== runsOffset + runs * 8) return 'documents.bin does not hold the runs that it announces.'
  let before = 0
  for (let at = 0; at <= documents; at++) {
    const first = bytes.readUInt32LE(firstRunsOffset + at * 4)
    if (at === 0 ? first !== 0 : first <= before) return 'A document of documents.bin has no passage.'
    before = first
  }
  for (let at = 1; at < documents; at++) {
    const id = at * DOCUMENT_ID_BYTES
    if (bytes.compare(bytes, id, id + DOCUMENT_ID_BYTES, id - DOCUMENT_ID_BYTES, id) >= 0)
      return 'The documents of documents.bin are not sorted.'
  }
  let covered = 0
  for (let at = runsOffset; at < bytes.length; at += 8) {
    const [from, to] = [bytes.readUInt32LE(at), bytes.readUInt32LE(at + 4)]
    if (from >= to || to > rows) return 'A run of documents.bin lies outside the passages.'
    covered += to - from
  }
  return covered === rows ? undefined : 'documents.bin does not hold every passage once.'
}

/** Collects the rows of each document as they are added and returns `documents.bin`; see `documentsLayout`. */
export function createDocumentsWriter() {
  /** Per document: first row, row after the last, first row, … */
  const runs = createLargeMap<number[]>()
  return {
    get count() {
      return runs.size
    },
    add(row: number, documentId: string) {
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
