import { z } from 'zod'

export const PAIR_BITS_MIN = 12
export const PAIR_BITS_MAX = 24
/**
 * Forward index: the words of every passage in order, for rescoring the best candidates. All values are little-endian
 * uint32.
 *
 * - `forward.tokens`: for each row the number of heading words, then a hash of each word, first of the heading, then of
 *   the text.
 * - `forward.offsets`: (rows + 1) start positions of the rows in `forward.tokens`, in units of uint32.
 * - `forward.pairs`: the number of rows in which two words are adjacent, in 2^pair_bits slots by a hash of both words.
 *   Pairs that share a slot share its count, so a pair may seem more common than it is.
 * - `forward.json`: the description.
 *
 * Words are terms of the lexical index: folded, stemmed, without function words.
 */
export const forwardSchema = z.strictObject({
  rows: z.int().positive(),
  uint32s: z.int().nonnegative(),
  /** Mean number of words of a row, heading included. */
  mean_length: z.number().nonnegative(),
  /** Mean number of text words of both adjacent rows in the revision. `mean_near`: of both rows two away. */
  mean_beside: z.number().nonnegative(),
  mean_near: z.number().nonnegative(),
  pair_bits: z.int().min(PAIR_BITS_MIN).max(PAIR_BITS_MAX),
})
export type ForwardDescription = z.infer<typeof forwardSchema>

/** Slot of two adjacent words in a table of 2^bits. */
export function pairSlot(first: number, second: number, bits: number): number {
  let mixed = Math.imul(first, 0x9e37_79b1) ^ Math.imul(second, 0x85eb_ca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b_3c6d)
  mixed = Math.imul(mixed ^ (mixed >>> 12), 0x297a_2d39)
  return (mixed ^ (mixed >>> 15)) >>> (32 - bits)
}
