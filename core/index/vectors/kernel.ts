import { z } from 'zod'
import type { SharedMemory } from '#core/platform/shared-memory.ts'
import { compileWasm, growTo, wasmFunction, wasmMemory } from '#core/platform/wasm-module.ts'
import type { CodedQuery } from './codes.ts'
import type { CodesLayout } from './layout.ts'

const instantiate = compileWasm(new URL('./kernel.wasm', import.meta.url))
const exportsSchema = z.object({ memory: wasmMemory, scan: wasmFunction<Scan>(), refine: wasmFunction<Refine>() })
type Scan = (
  codes: number,
  rowBytes: number,
  query: number,
  bits: number,
  words: number,
  threshold: number,
  hits: number,
  far: number,
) => number
type Refine = (
  codes: number,
  rowBytes: number,
  query: number,
  hits: number,
  count: number,
  most: number,
  threshold: number,
  sums: number,
  far: number,
) => number

/** Scores pieces of codes that lie in memory of all threads; the caller fills `bits`. */
export interface Kernel {
  /** Maximum number of rows of a piece; a multiple of 32. */
  readonly rowsMax: number
  /** The rows to score: bit row % 32 of word row / 32. */
  readonly bits: Uint32Array
  /** Pairs of a row of the piece and its score, by row; valid until the next scan. */
  readonly hits: Int32Array
  /** The sum of all scores that the last refinement computed, and that of their squares. */
  readonly sums: Float64Array
  ask(query: Pick<CodedQuery, 'bytes' | 'lowMost'>): void
  /**
   * Scores the high bits, and keeps the bits of the rows whose score may be above the threshold.
   * @param highAt where the high bits of the piece's row 0 begin. @returns the number of rows that are kept.
   */
  scan(highAt: number, words: number, threshold: number): number
  /**
   * Adds the low bits of the rows that the scan kept.
   * @param kept number of them. @returns the number of rows whose score is above the threshold.
   */
  refine(lowAt: number, kept: number, threshold: number): number
}

/** About half of a core's own cache. */
const CODES_BYTES = 512 * 1024
const ROWS_MAX = 8_192
const SUMS_BYTES = 16

export function pieceRowsMax(rowBytes: number): number {
  return Math.min(ROWS_MAX, Math.max(1, Math.floor(CODES_BYTES / rowBytes / 32)) * 32)
}

/** A threshold below every score: a score is at least -127 × 15 for each of at most 4,128 components. */
export const NO_THRESHOLD = -(2 ** 30)

/**
 * @param rowsMax a multiple of 32. @param far whether the codes of a piece are seldom in a core's own cache; they are
 * if they were copied to `codes` just before.
 */
export function createKernel(
  { high, low, rowBytes }: Pick<CodesLayout, 'high' | 'low' | 'rowBytes'>,
  codes: SharedMemory,
  { rowsMax = pieceRowsMax(rowBytes), far = false }: { readonly rowsMax?: number; readonly far?: boolean } = {},
): Kernel {
  const queryAt = 0
  const queryBytes = low.rowBytes * 4 + 1
  const bitsAt = queryAt + Math.ceil(queryBytes / 8) * 8
  const sumsAt = bitsAt + Math.ceil(rowsMax / 64) * 8
  const hitsAt = sumsAt + SUMS_BYTES
  const { memory, scan, refine } = exportsSchema.parse(instantiate({ codes: { memory: codes } }))
  growTo(memory, hitsAt + rowsMax * 8)
  const query = new Int8Array(memory.buffer, queryAt, queryBytes)
  let lowMost = 0
  return {
    rowsMax,
    bits: new Uint32Array(memory.buffer, bitsAt, rowsMax / 32),
    hits: new Int32Array(memory.buffer, hitsAt, rowsMax * 2),
    sums: new Float64Array(memory.buffer, sumsAt, 2),
    ask(asked) {
      query.set(asked.bytes)
      lowMost = asked.lowMost
    },
    scan: (highAt, words, threshold) =>
      scan(highAt, high.rowBytes, queryAt, bitsAt, words, threshold - lowMost, hitsAt, Number(far)),
    refine: (lowAt, kept, threshold) =>
      refine(lowAt, low.rowBytes, queryAt, hitsAt, kept, lowMost, threshold, sumsAt, Number(far)),
  }
}
