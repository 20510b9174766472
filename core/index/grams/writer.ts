import { gramHashes } from '#core/index/analysis/grams.ts'
import { indexWords } from '#core/index/analysis/index-words.ts'
import { GRAM_BITS_MAX, GRAM_BITS_MIN, encodedFrequency, gramSlot } from './layout.ts'

/** A passage has about thirty groups of letters that few others have. */
const SLOTS_PER_ROW = 32

/** Counts the rows of each gram and returns `grams.frequencies`. */
export interface GramsWriter {
  /** Counts the next row. */
  add(heading: string, text: string): void
  finish(): { readonly bits: number; readonly frequencies: Uint8Array }
}

/** @param rows number of rows to be added. */
export function createGramsWriter(rows: number): GramsWriter {
  const bits = Math.min(GRAM_BITS_MAX, Math.max(GRAM_BITS_MIN, Math.ceil(Math.log2(rows * SLOTS_PER_ROW))))
  const counts = new Uint32Array(2 ** bits)
  /** The last row, from 1, that each slot was counted for. */
  const last = new Uint32Array(2 ** bits)
  let row = 0
  return {
    add(heading, text) {
      row += 1
      for (const hash of gramHashes(indexWords(`${heading}\n${text}`))) {
        const slot = gramSlot(hash, bits)
        if (last[slot] === row) continue
        last[slot] = row
        counts[slot] = (counts[slot] ?? 0) + 1
      }
    },
    finish: () => ({ bits, frequencies: Uint8Array.from(counts, encodedFrequency) }),
  }
}
