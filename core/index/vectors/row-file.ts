import { closeSync, openSync } from 'node:fs'
import { z } from 'zod'
import { readInto } from '#core/platform/file-reader.ts'
import { GAP_BYTES, spanEnd } from '#core/platform/read-spans.ts'
import { compileWasm, growTo, wasmFunction, wasmMemory } from '#core/platform/wasm-module.ts'

/**
 * A file of float32 rows, read into one buffer that the thread reuses. Reading copies from the page cache, which all
 * threads share.
 */
export interface RowFile {
  /** @returns a copy of one row. */
  read(row: number): Float32Array
  /**
   * Cosines of rows, bit-identical on every machine: those of `innerProductAt`.
   * @param rows ascending. @param query unit length.
   */
  cosines(rows: Uint32Array, query: Float32Array): Float64Array
  close(): void
}

/** Most bytes that one call reads. They stay in a core's own cache until they are scored. */
const SPAN_BYTES_MAX = 65_536

const instantiate = compileWasm(new URL('./inner-product.wasm', import.meta.url))
const exportsSchema = z.object({
  memory: wasmMemory,
  product: wasmFunction<(row: number, bytes: number, query: number) => number>(),
})

export function openRowFile(path: string, dimensions: number): RowFile {
  const rowBytes = dimensions * 4
  const spanRows = Math.max(1, Math.floor(SPAN_BYTES_MAX / rowBytes))
  const distanceMax = Math.floor(GAP_BYTES / rowBytes) + 1
  // Zeros follow the rows, because the last one may be read beyond its end.
  const queryAt = Math.ceil((spanRows * rowBytes) / 16 + 1) * 16
  const queryLength = Math.ceil(dimensions / 4) * 4
  const { memory, product } = exportsSchema.parse(instantiate())
  growTo(memory, queryAt + queryLength * 8)
  const bytes = new Uint8Array(memory.buffer)
  const ofQuery = new Float64Array(memory.buffer, queryAt, queryLength)
  const file = openSync(path, 'r')

  return {
    read(row) {
      readInto(file, bytes, 0, rowBytes, row * rowBytes)
      return new Float32Array(memory.buffer, 0, dimensions).slice()
    },
    cosines(rows, query) {
      ofQuery.set(query)
      const scores = new Float64Array(rows.length)
      for (let from = 0; from < rows.length;) {
        const to = spanEnd(rows, from, distanceMax, spanRows - 1)
        const first = rows[from] ?? 0
        readInto(file, bytes, 0, ((rows[to] ?? 0) - first + 1) * rowBytes, first * rowBytes)
        for (let at = from; at <= to; at++)
          scores[at] = product(((rows[at] ?? 0) - first) * rowBytes, rowBytes, queryAt)
        from = to + 1
      }
      return scores
    },
    close: () => closeSync(file),
  }
}
