import { passageRecordSchema, type PassageRecord } from '#core/index/passages/record.ts'
import type { Selector } from '#core/index/passages/selector.ts'
import { INDEX_BOUNDS } from '#core/index/bounds.ts'
import { chunkId, derivedUuid } from '#core/platform/ids.ts'
import { IMPORT_BOUNDS } from '#law/import/bounds.ts'
import { dayOf } from '#law/import/mapping/dates.ts'
import type { Mapping } from '#law/import/mapping/mapping.ts'
import type { KeptRecord } from '#law/import/staging/rows.ts'
import { isLongerThan } from '#law/readers/text.ts'
import type { RecordFields } from './fields.ts'
import { numberedId } from './identity.ts'

/** A record cut into parts, before the other records of the import decide its end, its ordinal and its number. */
export interface StagedRecord {
  readonly fields: RecordFields
  readonly sourceId: string
  readonly snapshotId: string
  readonly documentId: string
  /** Parts of the chunk_id of its passages; source id, part number and text are the others. */
  readonly chunkKey: readonly string[]
  readonly heading: string
  readonly parts: readonly {
    readonly text: string
    readonly label: string
    readonly anchor: string
    readonly selector: Selector
  }[]
}

/** A passage before the number of passages of its document is known. */
export interface Passage extends Omit<PassageRecord, 'position'> {
  /** Position within the revision, from 0, in the order of the source. */
  readonly ordinal: number
  readonly document_key: string
  /** ISO 8601 UTC with milliseconds; null while the revision is open. */
  readonly effective_to: string | null
  /** Derived fields and the documented rule of each. */
  readonly lineage: Readonly<Record<string, string>>
}

/** The documented rules by which the end of a text is derived; kept in the lineage of its revision. */
const DERIVED_ENDS = {
  document: 'day on which the next revision of the document takes effect',
  provision: 'day on which the next revision of the provision takes effect',
} as const

/** Returns the passages of a record, one for each part. Only a number changes the chunk_id. */
export function passagesOf(
  { fields, parts, heading, chunkKey, ...record }: StagedRecord,
  { occurrence, effective_to, derived, ordinal, number }: Omit<KeptRecord, 'offset' | 'bytes'>,
  { revises = 'document' }: Pick<Mapping, 'revises'>,
): readonly Passage[] {
  const { documentId, snapshotId } = record
  const { effectiveAt, publishedAt, language } = fields
  const effectiveTo = effective_to === null ? null : new Date(effective_to).toISOString()
  const sourceId = number === null ? record.sourceId : numberedId(record.sourceId, number)
  const revisionId = derivedUuid('revision', documentId, effectiveAt, effectiveTo ?? '', publishedAt)
  return parts.map(({ text, label, anchor, selector }, index) => {
    const part = String(index + 1)
    return {
      chunk_id: chunkId([...chunkKey, sourceId, part], text),
      text,
      document: {
        id: documentId,
        revision_id: revisionId,
        title: fields.title,
        authority: fields.authority,
        canonical_url: fields.canonicalUrl,
        published_at: publishedAt,
        effective_at: effectiveAt,
      },
      citation: { label, source_anchor: anchor, source_snapshot_id: snapshotId },
      metadata: { language, jurisdiction: fields.jurisdiction, verification_status: fields.status },
      subjects: [...fields.subjects],
      in_force_from: dayOf(effectiveAt),
      in_force_to: effectiveTo === null ? null : dayOf(effectiveTo),
      source_id: sourceId,
      heading,
      references: [...fields.references],
      // A provision in another language is another one, so no language changes the ids of another.
      provision: derivedUuid('provision', documentId, language, fields.provision, String(occurrence), part),
      selector,
      ordinal: ordinal + index,
      document_key: fields.documentKey,
      effective_to: effectiveTo,
      lineage: derived ? { ...fields.lineage, effective_to: DERIVED_ENDS[revises] } : fields.lineage,
    }
  })
}

const recordSchema = passageRecordSchema.omit({ position: true }).loose()

/** Returns the bound or the rule of the schema that a passage breaks, or undefined. */
export function passageFault(passage: Passage): string | undefined {
  const { citation } = passage
  if (isLongerThan(passage.text, INDEX_BOUNDS.passageCharactersMax))
    return `part longer than ${INDEX_BOUNDS.passageCharactersMax} characters`
  if (isLongerThan(citation.label, IMPORT_BOUNDS.labelCharactersMax))
    return `citation_label longer than ${IMPORT_BOUNDS.labelCharactersMax} characters`
  if (citation.source_anchor.length > IMPORT_BOUNDS.urlCharactersMax)
    return `source anchor longer than ${IMPORT_BOUNDS.urlCharactersMax} characters`
  if (isLongerThan(passage.source_id, IMPORT_BOUNDS.sourceIdCharactersMax))
    return `source id longer than ${IMPORT_BOUNDS.sourceIdCharactersMax} characters`
  if (isLongerThan(passage.heading, IMPORT_BOUNDS.headingCharactersMax))
    return `heading longer than ${IMPORT_BOUNDS.headingCharactersMax} characters`
  if (Buffer.byteLength(JSON.stringify(passage)) > INDEX_BOUNDS.passageJsonBytesMax)
    return `passage larger than ${INDEX_BOUNDS.passageJsonBytesMax} bytes as JSON`
  return recordSchema.safeParse(passage).success ? undefined : 'does not satisfy the schema of a passage'
}
