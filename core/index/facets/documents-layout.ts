/** Bytes of one document's id (a UUID). */
export const DOCUMENT_ID_BYTES = 16

/**
 * Layout of `documents.bin`. First documents × 16 bytes: the ids, ascending. Then (documents + 1) uint32: the first run
 * of each document, and the end. Then the runs, two uint32 each: the first row and the row after the last.
 */
export function documentsLayout(documents: number): { readonly firstRunsOffset: number; readonly runsOffset: number } {
  const firstRunsOffset = documents * DOCUMENT_ID_BYTES
  return { firstRunsOffset, runsOffset: firstRunsOffset + (documents + 1) * 4 }
}

/** The 16 bytes of a UUID in its usual form. */
export function documentIdBytes(id: string): Buffer {
  return Buffer.from(id.replaceAll('-', ''), 'hex')
}
