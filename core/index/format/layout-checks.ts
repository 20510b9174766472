import { DOCUMENT_ID_BYTES, cellsLayout, documentsLayout } from './layout.ts'
import type { Division } from './layout.ts'

/** What does not hold of `cells.bin`, in one sentence; undefined if all does. */
export function cellsFault(bytes: Buffer, rows: number, dimensions: number, division: Division): string | undefined {
  const { cells } = division
  const layout = cellsLayout(rows, dimensions, division)
  if (bytes.length !== layout.bytes)
    return 'cells.bin does not fit the numbers of passages, dimensions, cells and components of a head.'
  const scale = bytes.readDoubleLE(0)
  if (!Number.isFinite(scale) || scale <= 0) return 'cells.bin has no scale above 0.'
  let start = 0
  for (let cell = 0; cell <= cells; cell++) {
    const next = bytes.readUInt32LE(layout.startsOffset + cell * 4)
    if (cell === 0 ? next !== 0 : next <= start) return 'The cells of cells.bin do not follow each other.'
    start = next
  }
  if (start !== rows) return 'The cells of cells.bin do not end with the passages.'
  for (let cell = 0; cell < cells; cell++) {
    const deviation = bytes.readFloatLE(layout.standardDeviationsOffset + cell * 4)
    if (!Number.isFinite(deviation) || deviation < 0) return 'A cell of cells.bin has no standard deviation.'
  }
  const seen = new Uint8Array(rows)
  for (let at = layout.rowsOffset; at < layout.directionsOffset; at += 4) {
    const row = bytes.readUInt32LE(at)
    if (row >= rows || seen[row] === 1) return 'cells.bin does not hold every passage once.'
    seen[row] = 1
  }
  return undefined
}

/** What does not hold of `documents.bin`, in one sentence; undefined if all does. */
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
