import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { forwardSchema, pairSlot, type ForwardDescription } from './forward-layout.ts'
import { openFileBytes, type FileBytes } from '#core/index/storage/file-bytes.ts'
import { wholeFile, type ResidentParts } from '#core/index/storage/resident-parts.ts'

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
export function openForwardReader(folder: string, rows: number, parts: ResidentParts): ForwardReader {
  const description = forwardSchema.parse(JSON.parse(readFileSync(join(folder, 'forward.json'), 'utf8')))
  const offsets = new Uint32Array(parts.read(wholeFile(join(folder, 'forward.offsets'), (rows + 1) * 4)))
  if (description.rows !== rows || offsets[rows] !== description.uint32s)
    throw new Error('the forward index contradicts the manifest')
  using opening = new DisposableStack()
  const opened = (name: string, size: number): FileBytes =>
    opening.adopt(openFileBytes(join(folder, name), size, parts), (file) => file.close())
  const pairs = opened('forward.pairs', 2 ** description.pair_bits * 4)
  const file = opened('forward.tokens', description.uint32s * 4)
  const files = opening.move()
  const all = file.memory === undefined ? undefined : rowsTokens(new Uint32Array(file.memory), offsets, 0)
  return {
    description,
    pairFrequency: (first, second) =>
      pairs.passing(pairSlot(first, second, description.pair_bits) * 4, 4).readUInt32LE(),
    read(from, to) {
      if (all !== undefined) return all
      const [first, end] = [offsets[from] ?? 0, offsets[to + 1] ?? 0]
      const { buffer, byteOffset } = file.passing(first * 4, (end - first) * 4)
      return rowsTokens(new Uint32Array(buffer, byteOffset, end - first), offsets, first)
    },
    close: () => files.dispose(),
  }
}

/** @param tokens from position `first` of the file on. */
function rowsTokens(tokens: Uint32Array, offsets: Uint32Array, first: number): RowsTokens {
  const startOf = (row: number): number => (offsets[row] ?? 0) - first + 1
  const endOf = (row: number): number => (offsets[row + 1] ?? 0) - first
  return {
    tokens,
    start: startOf,
    textStart: (row) => startOf(row) + (tokens[startOf(row) - 1] ?? 0),
    end: endOf,
    words: (row) => tokens.subarray(startOf(row), endOf(row)),
  }
}
