import { closeSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { forwardSchema, pairSlot } from '#core/artifact/forward.ts'
import type { ForwardDescription } from '#core/artifact/forward.ts'
import { openSized, ownBytes, readFully } from '#core/artifact/read-file.ts'

/** The words of rows; see `core/artifact/forward.ts`. */
export interface ForwardIndex {
  readonly description: ForwardDescription
  /** In how many rows two words stand side by side, or more. */
  readonly pairFrequency: (first: number, second: number) => number
  /**
   * Reads neighbouring rows at once.
   * @param from first row. @param to last row. @returns their words, valid until the next call.
   */
  readonly read: (from: number, to: number) => RowsWords
  readonly close: () => void
}

/** Rows `from` to `to` of the index. */
export interface RowsWords {
  /** Word hashes of a row, heading first. */
  readonly words: (row: number) => Uint32Array
  /** Those of its text alone. */
  readonly textWords: (row: number) => Uint32Array
}

/** @throws Error if a file is not as long as the description says. */
export function openForward(folder: string, rows: number): ForwardIndex {
  const description = forwardSchema.parse(JSON.parse(readFileSync(join(folder, 'forward.json'), 'utf8')))
  const offsets = new Uint32Array(ownBytes(join(folder, 'forward.offsets'), (rows + 1) * 4))
  const pairs = openSized(join(folder, 'forward.pairs'), 2 ** description.pair_bits * 4)
  const count = new Uint32Array(1)
  if (description.rows !== rows || offsets[rows] !== description.uint32s) throw new Error('the forward index contradicts the manifest')
  const file = openSized(join(folder, 'forward.tokens'), description.uint32s * 4)
  let buffer = new Uint32Array(4_096)
  return {
    description,
    // Read as asked for: a question has some ten pairs, the table of a million passages 64 MB.
    pairFrequency(first, second) {
      readFully(pairs, new Uint8Array(count.buffer), pairSlot(first, second, description.pair_bits) * 4)
      return count[0] ?? 0
    },
    read(from, to) {
      const [start, end] = [offsets[from] ?? 0, offsets[to + 1] ?? 0]
      if (buffer.length < end - start) buffer = new Uint32Array((end - start) * 2)
      readFully(file, new Uint8Array(buffer.buffer, 0, (end - start) * 4), start * 4)
      const current = buffer
      const words = (row: number): Uint32Array => current.subarray((offsets[row] ?? 0) - start + 1, (offsets[row + 1] ?? 0) - start)
      return { words, textWords: (row) => words(row).subarray(current[(offsets[row] ?? 0) - start] ?? 0) }
    },
    close() {
      closeSync(file)
      closeSync(pairs)
    },
  }
}
