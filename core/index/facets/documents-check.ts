import { DOCUMENT_ID_BYTES, documentsLayout } from './documents-layout.ts'

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
