/** Bytes of one document's id (a UUID). */
export const DOCUMENT_ID_BYTES = 16

/**
 * `documents.bin`: documents × 16 bytes, their ids, ascending; (documents + 1) uint32, the first run of each document
 * and the end; then the runs, two uint32 each: first row and the row after the last.
 */
export function documentsLayout(documents: number): { readonly firstRunsOffset: number; readonly runsOffset: number } {
  const firstRunsOffset = documents * DOCUMENT_ID_BYTES
  return { firstRunsOffset, runsOffset: firstRunsOffset + (documents + 1) * 4 }
}

/** The 16 bytes of a UUID in its usual form. */
export function documentIdBytes(id: string): Buffer {
  return Buffer.from(id.replaceAll('-', ''), 'hex')
}
