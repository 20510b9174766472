import { z } from 'zod'

export const NGRAM_BITS_MIN = 12
export const NGRAM_BITS_MAX = 22

/** A figure of the background, as a line over ln(information) of the question. */
const lineSchema = z.strictObject({ intercept: z.number(), slope: z.number() })

/**
 * The background model: what the first passages hold of questions that no passage answers; see
 * `measureBackgroundModel`. The information of a question is the sum of the inverse document frequencies of its
 * n-grams.
 */
export const backgroundModelSchema = z.strictObject({
  /** Questions that it was measured on; 0: the version is too small, and the default applies. */
  questions: z.int().nonnegative(),
  /** Natural logarithms of the least and the greatest information of these questions. */
  information: z.tuple([z.number(), z.number()]).readonly(),
  words_best: lineSchema,
  grams_best: lineSchema,
  grams_mass: lineSchema,
  document_share: lineSchema,
})
export type BackgroundModel = z.infer<typeof backgroundModelSchema>

/**
 * Character n-grams of all passages; see `ngramHashes`.
 *
 * - `grams.frequencies`: in 2^bits bytes by `ngramSlot`, the number of rows with an n-gram as `encodedFrequency`.
 *   N-grams that share a slot share its number, so one may seem more common than it is.
 * - `grams.words`: for each row, the words that its n-grams are of, as `indexWords` gives them, with spaces between, so
 *   that a search need not read the passage for them. `grams.offsets`: (rows + 1) float64, the byte offset of each row
 *   and the end. Artifacts of releases up to 0.2.0 lack both.
 * - `grams.json`: the description.
 */
export const ngramsSchema = z.strictObject({
  rows: z.int().positive(),
  bits: z.int().min(NGRAM_BITS_MIN).max(NGRAM_BITS_MAX),
  /** Size of `grams.words`. */
  words_bytes: z.int().nonnegative().optional(),
  chance: backgroundModelSchema,
})
export type NgramsDescription = z.infer<typeof ngramsSchema>

/** @param hash never 0. */
export function ngramSlot(hash: number, bits: number): number {
  return Math.imul(hash ^ (hash >>> 15), 0x9e37_79b1) >>> (32 - bits)
}

/** Steps of a byte for each doubling of a frequency. */
const STEPS = 8

/** @returns a byte: the frequency within 5 %. */
export function encodedFrequency(rows: number): number {
  return Math.min(255, Math.round(STEPS * Math.log2(1 + rows)))
}

export function decodedFrequency(byte: number): number {
  return 2 ** (byte / STEPS) - 1
}
