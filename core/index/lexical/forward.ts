import { z } from 'zod'
import { primaryLanguage } from '#core/index/analysis/analyzer.ts'
import type { LexicalTerms } from './writer.ts'

const PAIR_BITS_MIN = 12
const PAIR_BITS_MAX = 24
/** Slots for each row: passages hold some twenty pairs that no other passage holds. */
const PAIR_SLOTS_PER_ROW = 16

/**
 * The words of every passage in their order, for what looks at the best candidates more closely; all little-endian
 * uint32.
 *
 * - `forward.tokens`: for each row the number of words of its heading, then a hash of each word, heading first, then
 *   the text's.
 * - `forward.offsets`: (rows + 1) × where the row starts in the file before, counted in uint32.
 * - `forward.pairs`: in how many rows two words stand side by side, counted in 2^pair_bits slots by a hash of the two;
 *   words that share a slot share its count, which errs to the side of the commonplace.
 * - `forward.json`: the description.
 *
 * Words are terms of the lexical index: folded, stemmed, without function words.
 */
export const forwardSchema = z.strictObject({
  rows: z.int().positive(),
  uint32s: z.int().nonnegative(),
  /** Mean words of a row, heading included. */
  mean_length: z.number().nonnegative(),
  /** Mean words of the texts next to a row within its revision, both sides together; and of those one further. */
  mean_beside: z.number().nonnegative(),
  mean_near: z.number().nonnegative(),
  pair_bits: z.int().min(PAIR_BITS_MIN).max(PAIR_BITS_MAX),
})
export type ForwardDescription = z.infer<typeof forwardSchema>

/** FNV-1a (Fowler, Noll & Vo) over the UTF-16 units of `language:term`; 32 bits, never 0. */
export function tokenHash(language: string, term: string): number {
  let hash = 0x811c_9dc5
  for (const text of [language, ':', term]) {
    for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x0100_0193)
  }
  return hash >>> 0 || 1
}

/** Slot of two neighbouring words in a table of 2^bits. */
export function pairSlot(first: number, second: number, bits: number): number {
  let mixed = Math.imul(first, 0x9e37_79b1) ^ Math.imul(second, 0x85eb_ca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b_3c6d)
  mixed = Math.imul(mixed ^ (mixed >>> 12), 0x297a_2d39)
  return (mixed ^ (mixed >>> 15)) >>> (32 - bits)
}

export interface ForwardWriter {
  /**
   * @param sameRevisionAsPrevious whether the row before belongs to the same revision. @returns the row's bytes in `forward.tokens`.
   */
  add(terms: LexicalTerms, sameRevisionAsPrevious: boolean): Uint8Array
  finish(): { readonly description: ForwardDescription; readonly offsets: Uint8Array; readonly pairs: Uint8Array }
}

/** @param rows that will come, in their order. */
export function createForwardWriter(rows: number): ForwardWriter {
  const bits = Math.min(PAIR_BITS_MAX, Math.max(PAIR_BITS_MIN, Math.ceil(Math.log2(rows * PAIR_SLOTS_PER_ROW))))
  const pairs = new Uint32Array(2 ** bits)
  const offsets = new Uint32Array(rows + 1)
  const total = { length: 0, beside: 0, near: 0 }
  /** Words of the texts of the row before and of the one before it; rows of this revision so far. */
  let [before, beforeThat, run] = [0, 0, 0]
  let row = 0
  return {
    add({ language, heading, text }, sameRevisionAsPrevious) {
      const primary = primaryLanguage(language)
      const hashes = [...heading, ...text].map((term) => tokenHash(primary, term))
      const encoded = Uint32Array.of(heading.length, ...hashes)
      countPairs(encoded.subarray(1), pairs, bits)
      run = sameRevisionAsPrevious && row > 0 ? run + 1 : 0
      total.length += heading.length + text.length
      if (run > 0) total.beside += before + text.length
      if (run > 1) total.near += beforeThat + text.length
      ;[before, beforeThat] = [text.length, before]
      offsets[row + 1] = (offsets[row] ?? 0) + encoded.length
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

/** Each pair counts once a row. */
function countPairs(words: Uint32Array, pairs: Uint32Array, bits: number): void {
  const slots = new Set<number>()
  for (let at = 1; at < words.length; at++) slots.add(pairSlot(words[at - 1] ?? 0, words[at] ?? 0, bits))
  for (const slot of slots) pairs[slot] = (pairs[slot] ?? 0) + 1
}
