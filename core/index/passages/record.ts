import { z } from 'zod'
import { selectorSchema } from './selector.ts'

/**
 * `verified`: the import found the text again in the captured bytes; a version serves it after a signed review.
 * `source-declared`: only the source says so. The others are what the source says.
 */
export const VERIFICATION_STATUSES = ['verified', 'source-declared', 'provisional', 'withdrawn'] as const
export type VerificationStatus = (typeof VERIFICATION_STATUSES)[number]

/** ISO 8601 UTC with milliseconds. */
const instant = z.iso.datetime({ precision: 3 })
/** UTC day, YYYY-MM-DD. */
const day = z.iso.date()

/**
 * A passage of an artifact: one line of `passages.jsonl`. It holds everything that a reply shows, and the passage's
 * origin.
 */
export const passageRecordSchema = z.strictObject({
  chunk_id: z.string().regex(/^chk_[0-9a-f]{40}$/),
  /** ≤ 4,000 Unicode code points. */
  text: z.string().min(1),
  document: z.strictObject({
    id: z.uuid(),
    revision_id: z.uuid(),
    title: z.string().min(1),
    authority: z.string().min(1),
    canonical_url: z.url(),
    published_at: instant,
    effective_at: instant,
  }),
  citation: z.strictObject({ label: z.string().min(1), source_anchor: z.url(), source_snapshot_id: z.uuid() }),
  metadata: z.strictObject({
    language: z.string().min(1),
    jurisdiction: z.string().min(1),
    verification_status: z.enum(VERIFICATION_STATUSES),
  }),
  subjects: z.array(z.string()),
  /** In force on a day d iff in_force_from <= d and (in_force_to is null or d < in_force_to). */
  in_force_from: day,
  in_force_to: day.nullable(),
  position: z.strictObject({ ordinal: z.int().nonnegative(), document_passages: z.int().positive() }),
  /** Identifier in the source: the record's id, or `<document key>#<anchor>`; question sets name passages by it. */
  source_id: z.string().min(1),
  /** Title and headings, embedded and indexed before the passage's own text. */
  heading: z.string(),
  /** Canonical forms of the provisions whose text the passage holds in full or in part, without their ancestors. */
  references: z.array(z.string().min(1)),
  /**
   * Key of the provision, and of the part if its text was split. Only the same part in other revisions of the document
   * shares it.
   */
  provision: z.string().min(1),
  /** Where the text stands in the snapshot; of a text with a lead-in, the part below it. */
  selector: selectorSchema,
})

export type PassageRecord = z.infer<typeof passageRecordSchema>
