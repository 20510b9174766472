import { z } from 'zod'

const offset = z.int().nonnegative()
const rangeSchema = z.strictObject({ start: offset, end: offset })

/**
 * The place of a passage's own text in the captured bytes of its snapshot, in the manner of W3C Web Annotation. `end`
 * is exclusive. Each source format has its kind:
 *
 * - `DataPositionSelector`: bytes of the file, without those that `omits` names. CRLF reads as LF.
 * - `JsonPointerSelector`: code points of the string that the pointer (RFC 6901) names in one line of JSONL. `line`
 *   counts from 1, and `offset` is the byte at which it begins.
 */
export const selectorSchema = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('DataPositionSelector'),
    start: offset,
    end: offset,
    omits: z.array(rangeSchema).min(1).optional(),
  }),
  z.strictObject({
    type: z.literal('JsonPointerSelector'),
    line: z.int().positive(),
    offset,
    pointer: z.string().regex(/^(?:\/(?:[^~/]|~[01])*)*$/),
    start: offset,
    end: offset,
  }),
])
export type Selector = z.infer<typeof selectorSchema>
