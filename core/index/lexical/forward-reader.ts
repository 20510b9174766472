import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { forwardSchema, pairSlot } from './forward-layout.ts'
import { openFileBytes, type FileBytes } from '#core/index/storage/file-bytes.ts'
import { wholeFile, type ResidentParts } from '#core/index/storage/resident-parts.ts'

/** The words of rows; see `forward-layout.ts`. */
export type ForwardReader = ReturnType<typeof openForwardReader>

/**
 * Rows `from` to `to` of the index. Creating a view of a row costs more than scanning it, so loops use positions
 * instead.
 */
export type RowsTokens = ReturnType<typeof rowsTokens>

/** @throws Error if a file's size contradicts the description. */
export function openForwardReader(folder: string, rows: number, parts: ResidentParts) {
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
    /** Upper bound of the number of rows in which two words are adjacent. */
    pairFrequency: (first: number, second: number): number =>
      pairs.passing(pairSlot(first, second, description.pair_bits) * 4, 4).readUInt32LE(),
    /**
     * Reads adjacent rows in one call.
     * @param from first row.
     * @param to last row.
     * @returns their words, valid until the next call.
     */
    read(from: number, to: number): RowsTokens {
      if (all !== undefined) return all
      const [first, end] = [offsets[from] ?? 0, offsets[to + 1] ?? 0]
      const { buffer, byteOffset } = file.passing(first * 4, (end - first) * 4)
      return rowsTokens(new Uint32Array(buffer, byteOffset, end - first), offsets, first)
    },
    close: () => files.dispose(),
  }
}

/** @param tokens from position `first` of the file on. */
function rowsTokens(tokens: Uint32Array, offsets: Uint32Array, first: number) {
  const startOf = (row: number): number => (offsets[row] ?? 0) - first + 1
  const endOf = (row: number): number => (offsets[row + 1] ?? 0) - first
  return {
    /** Word hashes. The number of heading words precedes those of each row. */
    tokens,
    /** Position of a row's first word in `tokens`; the heading comes first. */
    start: startOf,
    /** Position of the first word of its text. */
    textStart: (row: number): number => startOf(row) + (tokens[startOf(row) - 1] ?? 0),
    /** Position after its last word. */
    end: endOf,
    /** Word hashes of a row, heading first. */
    words: (row: number): Uint32Array => tokens.subarray(startOf(row), endOf(row)),
  }
}
