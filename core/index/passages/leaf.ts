import { canonicalJson, sha256 } from '#core/platform/digest.ts'
import { memoized } from '#core/platform/memoized.ts'
import { z } from 'zod'
import { passageRecordSchema, type PassageRecord } from './record.ts'
import { selectorSchema } from './selector.ts'

const digest = z.string().regex(/^[0-9a-f]{64}$/)

/**
 * What the Merkle root proves of one passage. A caller rebuilds all of it but the selector from a reply: SHA-256 of
 * each text in UTF-8, and of the canonical JSON of `document` and `metadata` as they are served.
 */
export const leafSchema = z.strictObject({
  chunk_id: passageRecordSchema.shape.chunk_id,
  text_sha256: digest,
  document_sha256: digest,
  citation: z.strictObject({ label_sha256: digest, source_anchor_sha256: digest, source_snapshot_id: z.uuid() }),
  metadata_sha256: digest,
  /** First day in force, and the first one out of force; leaves of versions built before lack it. */
  in_force: z
    .strictObject({ from: passageRecordSchema.shape.in_force_from, to: passageRecordSchema.shape.in_force_to })
    .optional(),
  selector: selectorSchema,
})
export type Leaf = z.infer<typeof leafSchema>

export function leafOf(record: PassageRecord): Leaf {
  return { ...leafWithoutDays(record), in_force: { from: record.in_force_from, to: record.in_force_to } }
}

/** The leaf of a version that was built before leaves had days. */
export function leafWithoutDays({ chunk_id, text, document, citation, metadata, selector }: PassageRecord): Leaf {
  return {
    chunk_id,
    text_sha256: hexOf(text),
    document_sha256: hexOfShared(canonicalJson(document)),
    citation: {
      label_sha256: hexOf(citation.label),
      source_anchor_sha256: hexOf(citation.source_anchor),
      source_snapshot_id: citation.source_snapshot_id,
    },
    metadata_sha256: hexOfShared(canonicalJson(metadata)),
    selector,
  }
}

/** Hash of a leaf (RFC 6962, section 2.1): SHA-256 of a zero byte and the canonical JSON. */
export function leafHash(leaf: Leaf): Buffer {
  return sha256(Buffer.from(`\0${canonicalJson(leaf)}`))
}

function hexOf(text: string): string {
  return sha256(text).toString('hex')
}

/** The hash of what the passages of a revision share. */
const hexOfShared = memoized(hexOf, 1_000)
