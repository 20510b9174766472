import type { PassageRecord } from './record.ts'

/** Returns the lines of `passages.jsonl` and collects their offsets; see `layout.ts`. */
export interface PassagesWriter {
  /** @returns the row's line. */
  add(row: number, record: PassageRecord): Uint8Array
  /** @returns `passages.offsets`. */
  finish(): Uint8Array
}

/** @param rows number of rows; they are added in order. */
export function createPassagesWriter(rows: number): PassagesWriter {
  const offsets = new Float64Array(rows + 1)
  return {
    add(row, record) {
      const line = Buffer.from(`${JSON.stringify(record)}\n`)
      offsets[row + 1] = (offsets[row] ?? 0) + line.length
      return line
    },
    finish: () => new Uint8Array(offsets.buffer),
  }
}
