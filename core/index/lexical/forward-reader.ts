import { closeSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { forwardSchema, pairSlot } from './forward-layout.ts'
import type { ForwardDescription } from './forward-layout.ts'
import { openSized, readFully } from '#core/platform/file-reader.ts'
import { createResidentParts, wholeFile } from '#core/platform/resident-parts.ts'

/** The words of rows; see `forward-layout.ts`. */
export interface ForwardReader {
  readonly description: ForwardDescription
  /** Upper bound of the number of rows in which two words are adjacent. */
  readonly pairFrequency: (first: number, second: number) => number
  /**
   * Reads adjacent rows in one call.
   * @param from first row.
   * @param to last row.
   * @returns their words, valid until the next call.
   */
  readonly read: (from: number, to: number) => RowsTokens
  readonly close: () => void
}

/**
 * Rows `from` to `to` of the index. Creating a view of a row costs more than scanning it, so loops use positions
 * instead.
 */
export interface RowsTokens {
  /** Word hashes. The number of heading words precedes those of each row. */
  readonly tokens: Uint32Array
  /** Position of a row's first word in `tokens`; the heading comes first. */
  readonly start: (row: number) => number
  /** Position of the first word of its text. */
  readonly textStart: (row: number) => number
  /** Position after its last word. */
  readonly end: (row: number) => number
  /** Word hashes of a row, heading first. */
  readonly words: (row: number) => Uint32Array
}

/** @throws Error if a file's size contradicts the description. */
export function openForwardReader(folder: string, rows: number, parts = createResidentParts()): ForwardReader {
  const description = forwardSchema.parse(JSON.parse(readFileSync(join(folder, 'forward.json'), 'utf8')))
  const offsets = new Uint32Array(parts.read(wholeFile(join(folder, 'forward.offsets'), (rows + 1) * 4)))
  using opening = new DisposableStack()
  const pairs = opening.adopt(openSized(join(folder, 'forward.pairs'), 2 ** description.pair_bits * 4), closeSync)
  const count = new Uint32Array(1)
  if (description.rows !== rows || offsets[rows] !== description.uint32s)
    throw new Error('the forward index contradicts the manifest')
  const file = opening.adopt(openSized(join(folder, 'forward.tokens'), description.uint32s * 4), closeSync)
  const files = opening.move()
  let buffer = new Uint32Array(4_096)
  return {
    description,
    // Read on demand: a question has about ten pairs, while the table of a million passages has 64 MB.
    pairFrequency(first, second) {
      readFully(pairs, new Uint8Array(count.buffer), pairSlot(first, second, description.pair_bits) * 4)
      return count[0] ?? 0
    },
    read(from, to) {
      const [first, end] = [offsets[from] ?? 0, offsets[to + 1] ?? 0]
      if (buffer.length < end - first) buffer = new Uint32Array((end - first) * 2)
      readFully(file, new Uint8Array(buffer.buffer, 0, (end - first) * 4), first * 4)
      const tokens = buffer
      const startOf = (row: number): number => (offsets[row] ?? 0) - first + 1
      const endOf = (row: number): number => (offsets[row + 1] ?? 0) - first
      return {
        tokens,
        start: startOf,
        textStart: (row) => startOf(row) + (tokens[startOf(row) - 1] ?? 0),
        end: endOf,
        words: (row) => tokens.subarray(startOf(row), endOf(row)),
      }
    },
    close: () => files.dispose(),
  }
}
