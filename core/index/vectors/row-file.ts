import { closeSync, openSync } from 'node:fs'
import { readInto } from '#core/index/storage/file-reader.ts'
import { GAP_BYTES, spanEnd } from '#core/index/storage/read-spans.ts'
import { wholeFile, type ResidentParts } from '#core/index/storage/resident-parts.ts'
import type { VectorFile } from './blocks.ts'
import { innerProductAt } from './inner-product.ts'

/** A file of float32 rows. */
export interface RowFile {
  /** @returns a copy of one row. */
  read(row: number): Float32Array
  /**
   * Cosines of rows, bit-identical on every machine; see `innerProductAt`.
   * @param rows ascending. @param query unit length.
   */
  cosines(rows: Uint32Array, query: Float32Array): Float64Array
  close(): void
}

/** Opens the rows of a file of vectors: a small one is kept in memory, of another one each search reads the page cache. */
export function openRows({ path, rows, dimensions }: VectorFile, parts: ResidentParts): RowFile {
  const bytes = rows * dimensions * 4
  return bytes <= parts.vectorBytesMax
    ? rowsInMemory(new Float32Array(parts.read(wholeFile(path, bytes))), dimensions)
    : openRowFile(path, dimensions)
}

/** Rows in memory that threads share: a system call takes longer than the inner product of a row. */
export function rowsInMemory(vectors: Float32Array, dimensions: number): RowFile {
  return {
    read: (row) => Float32Array.from(vectors.subarray(row * dimensions, (row + 1) * dimensions)),
    cosines(rows, query) {
      const scores = new Float64Array(rows.length)
      for (let at = 0; at < rows.length; at++) scores[at] = innerProductAt(vectors, (rows[at] ?? 0) * dimensions, query)
      return scores
    },
    close: () => undefined,
  }
}

/** Most bytes that one call reads. They stay in a core's own cache until they are scored. */
const SPAN_BYTES_MAX = 65_536

/** Reading copies from the page cache, which all threads share. */
export function openRowFile(path: string, dimensions: number): RowFile {
  const rowBytes = dimensions * 4
  const spanRows = Math.max(1, Math.floor(SPAN_BYTES_MAX / rowBytes))
  const distanceMax = Math.floor(GAP_BYTES / rowBytes) + 1
  const span = new Float32Array(spanRows * dimensions)
  const bytes = new Uint8Array(span.buffer)
  const file = openSync(path, 'r')
  return {
    read(row) {
      readInto(file, bytes, 0, rowBytes, row * rowBytes)
      return span.slice(0, dimensions)
    },
    cosines(rows, query) {
      const scores = new Float64Array(rows.length)
      for (let from = 0; from < rows.length;) {
        const to = spanEnd(rows, from, distanceMax, spanRows - 1)
        const first = rows[from] ?? 0
        readInto(file, bytes, 0, ((rows[to] ?? 0) - first + 1) * rowBytes, first * rowBytes)
        for (let at = from; at <= to; at++)
          scores[at] = innerProductAt(span, ((rows[at] ?? 0) - first) * dimensions, query)
        from = to + 1
      }
      return scores
    },
    close: () => closeSync(file),
  }
}
