import { statSync } from 'node:fs'
import { join } from 'node:path'
import { wholeFile } from '#core/index/storage/resident-parts.ts'
import type { ResidentParts } from '#core/index/storage/resident-parts.ts'
import { DOCUMENT_ID_BYTES, documentIdBytes, documentsLayout } from './documents-layout.ts'

/** The rows of each document. */
export interface DocumentTable {
  /**
   * Returns the first row and the row after the last of each run, interleaved. Empty for a document that the version
   * does not hold.
   */
  runsOf(documentId: string): Uint32Array
}

/**
 * @param folder of a verified artifact.
 * @param documents number of documents in the manifest.
 */
export function readDocumentTable(folder: string, documents: number, parts: ResidentParts): DocumentTable {
  const path = join(folder, 'documents.bin')
  const bytes = parts.read(wholeFile(path, statSync(path).size))
  const { firstRunsOffset, runsOffset } = documentsLayout(documents)
  const ids = Buffer.from(bytes, 0, firstRunsOffset)
  const firstRuns = new Uint32Array(bytes, firstRunsOffset, documents + 1)
  const runs = new Uint32Array(bytes, runsOffset)
  return {
    runsOf(documentId) {
      const wanted = documentIdBytes(documentId)
      if (wanted.length !== DOCUMENT_ID_BYTES) return new Uint32Array()
      let [low, high] = [0, documents - 1]
      while (low <= high) {
        const middle = (low + high) >>> 1
        const order = wanted.compare(ids, middle * DOCUMENT_ID_BYTES, (middle + 1) * DOCUMENT_ID_BYTES)
        if (order === 0) return runs.subarray((firstRuns[middle] ?? 0) * 2, (firstRuns[middle + 1] ?? 0) * 2)
        if (order < 0) high = middle - 1
        else low = middle + 1
      }
      return new Uint32Array()
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
