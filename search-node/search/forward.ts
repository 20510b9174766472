import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { forwardSchema, pairSlot } from '#core/artifact/forward.ts'
import type { ForwardDescription } from '#core/artifact/forward.ts'

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
  const offsets = wholeFile(join(folder, 'forward.offsets'), rows + 1)
  const pairs = fileOf(join(folder, 'forward.pairs'), 2 ** description.pair_bits * 4)
  const count = new Uint32Array(1)
  if (description.rows !== rows || offsets[rows] !== description.uint32s) throw new Error('the forward index contradicts the manifest')
  const file = fileOf(join(folder, 'forward.tokens'), description.uint32s * 4)
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

function fileOf(path: string, bytes: number): number {
  const file = openSync(path, 'r')
  if (fstatSync(file).size === bytes) return file
  closeSync(file)
  throw new Error('a file of the forward index is not as long as its description says')
}

function wholeFile(path: string, uint32s: number): Uint32Array {
  const bytes = readFileSync(path)
  if (bytes.length !== uint32s * 4) throw new Error('a file of the forward index is not as long as its description says')
  const own = new Uint32Array(uint32s)
  new Uint8Array(own.buffer).set(bytes)
  return own
}

function readFully(file: number, bytes: Uint8Array, position: number): void {
  for (let done = 0; done < bytes.length;) {
    const read = readSync(file, bytes, done, bytes.length - done, position + done)
    if (read === 0) throw new Error('a file of the artifact is shorter than it was when it was verified')
    done += read
  }
}
