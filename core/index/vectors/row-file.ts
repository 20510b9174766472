import { closeSync, openSync } from 'node:fs'
import { readInto } from '#core/platform/file-reader.ts'

/**
 * A file of rows of equal size, read into one buffer that the thread reuses. Reading copies from the page cache, which
 * all threads share. usearch ignores the offset of a view into a buffer, so the rows always start at byte 0.
 */
export interface RowFile {
  /** Maximum number of rows of one call. */
  readonly rowsMax: number
  /**
   * @param rows ascending.
   * @returns the buffer with the rows' bytes at its start, in order; valid until the next call.
   */
  read(rows: Uint32Array): ArrayBuffer
  close(): void
}

/** Half a megabyte fits a core's own cache during scoring. At 768 dimensions 0.25 MB and 1.5 MB were both slower. */
const BUFFER_BYTES = 524_288
/** Largest gap that is read to save a system call. One call costs about as much as copying this many bytes. */
const GAP_BYTES = 8_192

export function openRowFile(path: string, rowBytes: number): RowFile {
  const rowsMax = Math.max(64, Math.floor(BUFFER_BYTES / rowBytes))
  const gapRows = Math.floor(GAP_BYTES / rowBytes)
  const capacityRows = rowsMax * 2
  const buffer = new ArrayBuffer(capacityRows * rowBytes)
  const bytes = new Uint8Array(buffer)
  const file = openSync(path, 'r')

  /**
   * Returns the last position of the group that starts at `from`: rows with small gaps between them that fit the
   * buffer.
   */
  function groupEnd(rows: Uint32Array, from: number): number {
    const lastThatFits = (rows[from] ?? 0) + capacityRows - from - 1
    let to = from
    while (to + 1 < rows.length) {
      const next = rows[to + 1] ?? 0
      if (next - (rows[to] ?? 0) - 1 > gapRows || next > lastThatFits) break
      to += 1
    }
    return to
  }
  /** Closes the gaps between the rows of a group, which were read with them. */
  function closeGaps(rows: Uint32Array, from: number, to: number): void {
    const first = rows[from] ?? 0
    for (let at = from + 1; at <= to; at++) {
      const read = from + (rows[at] ?? 0) - first
      if (read !== at) bytes.copyWithin(at * rowBytes, read * rowBytes, (read + 1) * rowBytes)
    }
  }
  return {
    rowsMax,
    read(rows) {
      for (let from = 0; from < rows.length;) {
        const to = groupEnd(rows, from)
        const first = rows[from] ?? 0
        readInto(file, bytes, from * rowBytes, ((rows[to] ?? 0) - first + 1) * rowBytes, first * rowBytes)
        if ((rows[to] ?? 0) - first > to - from) closeGaps(rows, from, to)
        from = to + 1
      }
      return buffer
    },
    close: () => closeSync(file),
  }
}
