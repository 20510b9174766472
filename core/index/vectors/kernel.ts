import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { PAGE_BYTES, type SharedMemory } from '#core/index/storage/resident-parts.ts'
import type { Sq4Layout } from './layout.ts'
import type { QuantizedQuery } from './quantizer.ts'

/** Memory of one instance of the kernel: one page at first. */
interface WasmMemory {
  readonly buffer: ArrayBuffer
  grow(pages: number): number
}

/** The part of the JavaScript API that is used; its types come with those of browsers only. */
declare const WebAssembly: {
  readonly Memory: new (limits: { readonly initial: number }) => WasmMemory
  readonly Module: new (bytes: Uint8Array) => object
  readonly Instance: new (
    module: object,
    imports: { readonly codes: { readonly memory: SharedMemory } },
  ) => { readonly exports: unknown }
}

type Scan = (
  sq4: number,
  rowBytes: number,
  query: number,
  bits: number,
  words: number,
  threshold: number,
  hits: number,
) => number

const compiled = new WebAssembly.Module(readFileSync(new URL('./kernel.wasm', import.meta.url)))
const exportsSchema = z.object({
  memory: z.custom<WasmMemory>((value) => value instanceof WebAssembly.Memory),
  scan: z.custom<Scan>((value) => typeof value === 'function'),
})

/** About half of a core's own cache. */
const CODES_BYTES = 512 * 1024
const ROWS_MAX = 8_192

export function pieceRowsMax(rowBytes: number): number {
  return Math.min(ROWS_MAX, Math.max(1, Math.floor(CODES_BYTES / rowBytes / 32)) * 32)
}

/** A threshold below every score: a score is at least -127 × 15 for each of at most 4,128 components. */
export const NO_THRESHOLD = -(2 ** 30)

/**
 * Scores pieces of SQ4 vectors that lie in memory of all threads; the caller fills `bits`.
 * @param rowsMax a multiple of 32.
 */
export function createKernel(
  { rowBytes }: Pick<Sq4Layout, 'rowBytes'>,
  sq4: SharedMemory,
  rowsMax: number = pieceRowsMax(rowBytes),
) {
  const queryBytes = (rowBytes - 2) * 2 + 1
  const bitsAt = Math.ceil(queryBytes / 8) * 8
  const hitsAt = bitsAt + Math.ceil(rowsMax / 64) * 8
  const { memory, scan } = exportsSchema.parse(new WebAssembly.Instance(compiled, { codes: { memory: sq4 } }).exports)
  memory.grow(Math.ceil((hitsAt + rowsMax * 8) / PAGE_BYTES) - 1)
  const query = new Int8Array(memory.buffer, 0, queryBytes)
  return {
    /** Maximum number of rows of a piece; a multiple of 32. */
    rowsMax,
    /** The rows to score: bit row % 32 of word row / 32. */
    bits: new Uint32Array(memory.buffer, bitsAt, rowsMax / 32),
    /** Pairs of a row of the piece and its score, by row; valid until the next scan. */
    hits: new Int32Array(memory.buffer, hitsAt, rowsMax * 2),
    setQuery: ({ bytes }: Pick<QuantizedQuery, 'bytes'>) => query.set(bytes),
    /**
     * @param sq4At where the SQ4 vector of the piece's row 0 begins. @param words of bits.
     * @returns the number of rows whose score is above the threshold.
     */
    scan: (sq4At: number, words: number, threshold: number): number =>
      scan(sq4At, rowBytes, 0, bitsAt, words, threshold, hitsAt),
  }
}
