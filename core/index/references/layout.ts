import { z } from 'zod'

/**
 * Layout of a version's references; all values are little-endian. A term is the canonical form of a provision whose
 * text a passage holds. A provision of a known act also has a term for its path under any act (`*#433` beside
 * `de:bgb#433`). Terms are sorted by code units, so the parts of a provision are consecutive and their rows contiguous.
 * Ancestors are therefore not stored.
 *
 * - `references.json`: the acts of the version with their names, and the counts that determine the layout below.
 * - `references.bin`: (terms + 1) uint32 byte offsets into the text and (terms + 1) uint32 offsets into the rows,
 *   interleaved (text, rows); then `postings` uint32 rows, by term and ascending within it; then the UTF-8 text of the
 *   terms, concatenated.
 */
export const referencesSchema = z.strictObject({
  /** Sorted by id; aliases are sorted too. */
  acts: z.array(z.strictObject({ id: z.string().min(1), aliases: z.array(z.string().min(1)) })),
  terms: z.int().nonnegative(),
  postings: z.int().nonnegative(),
  text_bytes: z.int().nonnegative(),
})

/** An act of the corpus, and its names in queries in addition to the built-in ones. */
export type ActEntry = z.infer<typeof referencesSchema>['acts'][number]

/** Byte offsets of the parts of `references.bin`, and its size. */
export function referencesLayout({ terms, postings, text_bytes }: Omit<z.infer<typeof referencesSchema>, 'acts'>) {
  const rowsOffset = (terms + 1) * 8
  const textOffset = rowsOffset + postings * 4
  return { rowsOffset, textOffset, bytes: textOffset + text_bytes }
}
