import { primaryLanguage } from '#core/index/analysis/analyzer.ts'
import { ArtifactError } from '#core/index/artifact-error.ts'
import { PAIR_BITS_MAX, PAIR_BITS_MIN, pairSlot, type ForwardDescription } from './forward-layout.ts'
import { tokenHash } from './token-hash.ts'
import type { LexicalTerms } from './writer.ts'

/** Slots per row. A passage has about twenty pairs that no other passage has. */
const PAIR_SLOTS_PER_ROW = 16

const UINT32_MAX = 0xffff_ffff

/** @param rows number of rows; they are added in order. @param uint32sMax words of all rows; offsets have 32 bits. */
export function createForwardWriter(rows: number, uint32sMax = UINT32_MAX) {
  const bits = Math.min(PAIR_BITS_MAX, Math.max(PAIR_BITS_MIN, Math.ceil(Math.log2(rows * PAIR_SLOTS_PER_ROW))))
  const pairs = new Uint32Array(2 ** bits)
  const offsets = new Uint32Array(rows + 1)
  const total = { length: 0, beside: 0, near: 0 }
  /** Text words of the previous row and of the one before it; previous rows of this revision. */
  let [before, beforeThat, run] = [0, 0, 0]
  let row = 0
  return {
    /** @returns the row's bytes in `forward.tokens`. */
    add({ language, heading, text }: LexicalTerms, sameRevisionAsPrevious: boolean) {
      const primary = primaryLanguage(language)
      const hashes = [...heading, ...text].map((term) => tokenHash(primary, term))
      const encoded = Uint32Array.of(heading.length, ...hashes)
      countPairs(encoded.subarray(1), pairs, bits)
      run = sameRevisionAsPrevious && row > 0 ? run + 1 : 0
      total.length += heading.length + text.length
      if (run > 0) total.beside += before + text.length
      if (run > 1) total.near += beforeThat + text.length
      ;[before, beforeThat] = [text.length, before]
      const end = (offsets[row] ?? 0) + encoded.length
      if (end > uint32sMax) throw new ArtifactError('The words of all passages do not fit the forward index.')
      offsets[row + 1] = end
      row += 1
      return new Uint8Array(encoded.buffer)
    },
    finish() {
      const mean = (sum: number): number => sum / Math.max(1, row)
      const description: ForwardDescription = {
        rows: row,
        uint32s: offsets[row] ?? 0,
        mean_length: mean(total.length),
        mean_beside: mean(total.beside),
        mean_near: mean(total.near),
        pair_bits: bits,
      }
      return { description, offsets: new Uint8Array(offsets.buffer), pairs: new Uint8Array(pairs.buffer) }
    },
  }
}

/** Counts each pair once per row. */
function countPairs(words: Uint32Array, pairs: Uint32Array, bits: number): void {
  const slots = new Set<number>()
  for (let at = 1; at < words.length; at++) slots.add(pairSlot(words[at - 1] ?? 0, words[at] ?? 0, bits))
  for (const slot of slots) pairs[slot] = (pairs[slot] ?? 0) + 1
}
