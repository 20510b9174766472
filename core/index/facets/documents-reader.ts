import { statSync } from 'node:fs'
import { join } from 'node:path'
import { createResidentParts, wholeFile } from '#core/index/storage/resident-parts.ts'
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
export function readDocumentTable(folder: string, documents: number, parts = createResidentParts()): DocumentTable {
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
