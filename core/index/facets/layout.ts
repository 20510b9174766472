import { z } from 'zod'
import { DAY_MS } from '#core/platform/time.ts'
import { bitsetWords } from '#core/index/bitset.ts'

/**
 * - `facets.json`: the dictionaries.
 * - `facets.bin`, little-endian: for every value of languages, jurisdictions, subjects, statuses, in the dictionary's
 *   order, one bitset of ceil(rows / 32) uint32 words (bit row % 32 of word row / 32); then rows int32 of
 *   in_force_from and rows int32 of in_force_to, as days since 1970-01-01, open end = OPEN_END_DAY.
 */
export const facetsSchema = z.strictObject({
  languages: z.array(z.string()),
  jurisdictions: z.array(z.string()),
  subjects: z.array(z.string()),
  statuses: z.array(z.string()),
})
/** Distinct values of a version, each list sorted. */
export type Facets = z.infer<typeof facetsSchema>

export const OPEN_END_DAY = 2_147_483_647

/** Days since 1970-01-01 of a UTC day YYYY-MM-DD. */
export function dayNumber(day: string): number {
  return Math.floor(Date.parse(`${day}T00:00:00Z`) / DAY_MS)
}

/** Byte offsets of the parts of `facets.bin`. */
export function facetsLayout(rows: number, facets: Facets) {
  const bitsets =
    facets.languages.length + facets.jurisdictions.length + facets.subjects.length + facets.statuses.length
  const fromOffset = bitsets * bitsetWords(rows) * 4
  const toOffset = fromOffset + rows * 4
  return { bitsets, fromOffset, toOffset, bytes: toOffset + rows * 4 }
}
