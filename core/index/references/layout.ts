import { z } from 'zod'

/**
 * Layout of a version's references; all little-endian. A term is the canonical form of a provision that some passage is
 * the text of, and, for a provision of a known act, the same path under any act (`*#433` beside `de:bgb#433`). Terms
 * are sorted by code units, so the parts of a provision follow from one place on, and the rows of a provision with all
 * its parts are one stretch: no ancestor is written out.
 *
 * - `references.json`: the acts that the version holds with what they are called, and the counts that give the layout
 *   below.
 * - `references.bin`: (terms + 1) uint32 byte offsets into the text and (terms + 1) uint32 offsets into the rows,
 *   interleaved (text, rows); then `postings` uint32 rows, by term and ascending within it; then the UTF-8 text of the
 *   terms, one after the other.
 */
export const referencesSchema = z.strictObject({
  /** Sorted by id; aliases are sorted too. */
  acts: z.array(z.strictObject({ id: z.string().min(1), aliases: z.array(z.string().min(1)) })),
  terms: z.int().nonnegative(),
  postings: z.int().nonnegative(),
  text_bytes: z.int().nonnegative(),
})
export type ReferencesCounts = Omit<z.infer<typeof referencesSchema>, 'acts'>

/** An act that a corpus holds, and what queries may call it beside the names that everybody knows. */
export type ActEntry = z.infer<typeof referencesSchema>['acts'][number]

/** Byte offsets of the parts of `references.bin`, and its size. */
export function referencesLayout({ terms, postings, text_bytes }: ReferencesCounts): {
  readonly rowsOffset: number
  readonly textOffset: number
  readonly bytes: number
} {
  const rowsOffset = (terms + 1) * 8
  const textOffset = rowsOffset + postings * 4
  return { rowsOffset, textOffset, bytes: textOffset + text_bytes }
}
