import { z } from 'zod'

export const PAIR_BITS_MIN = 12
export const PAIR_BITS_MAX = 24
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

/** Slot of two neighbouring words in a table of 2^bits. */
export function pairSlot(first: number, second: number, bits: number): number {
  let mixed = Math.imul(first, 0x9e37_79b1) ^ Math.imul(second, 0x85eb_ca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b_3c6d)
  mixed = Math.imul(mixed ^ (mixed >>> 12), 0x297a_2d39)
  return (mixed ^ (mixed >>> 15)) >>> (32 - bits)
}
