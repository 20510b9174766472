import { z } from 'zod'

const offset = z.int().nonnegative()
const rangeSchema = z.strictObject({ start: offset, end: offset })
export type SelectedRange = z.infer<typeof rangeSchema>

/** Code points before and after the place, in the same text: they tell it from one with the same words. */
const CONTEXT_CHARACTERS_MAX = 32
const context = z.string().max(2 * CONTEXT_CHARACTERS_MAX)

/** What every place has beside its kind. */
const common = {
  prefix: context.optional(),
  suffix: context.optional(),
  /** Of a corrected draft: the file that it was drafted from, and the page on which the text begins there. */
  original: z
    .strictObject({ sha256: z.string().regex(/^[0-9a-f]{64}$/), page: z.int().positive().optional() })
    .optional(),
  /**
   * Code points of the passage's own text that its reader has added: bullets, marks between cells, numbers of notes.
   * Where it is there, white space of the file is not significant.
   */
  adds: z.array(rangeSchema).optional(),
}

/**
 * The place of a passage's own text in the captured bytes of its snapshot, in the manner of W3C Web Annotation: its
 * exact text is the passage's own, with the text before and after it as `prefix` and `suffix`. `end` is exclusive. Each
 * source format has its kind:
 *
 * - `DataPositionSelector`: bytes of the file, without those that `omits` names. CRLF reads as LF.
 * - `JsonPointerSelector`: code points of the string that the pointer (RFC 6901) names in one line of JSONL. `line`
 *   counts from 1, and `offset` is the byte at which it begins.
 * - `XPathSelector`: code points of the text of an element (XPath 1.0 `string()`), in the order of the passage. Of a
 *   Word document it is an element of the main part, with each note in place of its first mark.
 * - `PdfSelector`: lines of a page in the order of the passage, each with its corners in points as `QuadPoints` has them
 *   (ISO 32000, section 12.5.6.10), and the code points of the line where it is not the whole.
 */
export const selectorSchema = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('DataPositionSelector'),
    start: offset,
    end: offset,
    omits: z.array(rangeSchema).min(1).optional(),
    ...common,
  }),
  z.strictObject({
    type: z.literal('JsonPointerSelector'),
    line: z.int().positive(),
    offset,
    pointer: z.string().regex(/^(?:\/(?:[^~/]|~[01])*)*$/),
    start: offset,
    end: offset,
    ...common,
  }),
  z.strictObject({
    type: z.literal('XPathSelector'),
    value: z.string().regex(/^(?:\/\*\[\d+\])+$/),
    ranges: z.array(rangeSchema).min(1),
    ...common,
  }),
  z.strictObject({
    type: z.literal('PdfSelector'),
    lines: z
      .array(
        z.strictObject({
          page: z.int().positive(),
          quad: z.array(z.number()).length(8),
          start: offset.optional(),
          end: offset.optional(),
        }),
      )
      .min(1),
    ...common,
  }),
])
export type Selector = z.infer<typeof selectorSchema>

/** Returns what stands around a place in its text, by offsets in UTF-16 units; nothing at an end of the text. */
export function contextOf(text: string, start: number, end: number): { prefix?: string; suffix?: string } {
  const before = Array.from(text.slice(Math.max(0, start - 2 * CONTEXT_CHARACTERS_MAX), start))
  const after = Array.from(text.slice(end, end + 2 * CONTEXT_CHARACTERS_MAX))
  const prefix = before.slice(-CONTEXT_CHARACTERS_MAX).join('').toWellFormed()
  const suffix = after.slice(0, CONTEXT_CHARACTERS_MAX).join('').toWellFormed()
  return { ...(prefix === '' ? {} : { prefix }), ...(suffix === '' ? {} : { suffix }) }
}
