import { cellsLayout } from './layout.ts'
import type { Division } from './layout.ts'

/** Returns the first fault of `cells.bin` as one sentence, or undefined if there is none. */
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
