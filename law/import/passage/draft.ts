import { passageRecordSchema } from '#core/index/passages/record.ts'
import type { FoldedKey } from '#core/identity/fold.ts'
import { INDEX_BOUNDS } from '#core/index/bounds.ts'
import { chunkId, derivedUuid } from '#core/platform/ids.ts'
import type { KeptRecord } from '#law/import/staging/rows.ts'
import { z } from 'zod'
import { IMPORT_BOUNDS } from '../bounds.ts'
import { sourceAnchor } from '../parts/anchor.ts'
import { dayOf } from '../mapping/dates.ts'
import type { RecordFields } from './fields.ts'
import { numberedId } from './identity.ts'
import type { Mapping } from '../mapping/mapping.ts'
import type { TextPart } from '../parts/parts.ts'
import type { SourceRecord } from '../record/record.ts'
import { isLongerThan } from '#law/readers/text.ts'

/** A passage before the number of passages of its document is known. */
export const draftPassageSchema = passageRecordSchema.omit({ position: true }).extend({
  /** Position within the revision, from 0, in the order of the source. */
  ordinal: z.int().nonnegative(),
  document_key: z.string(),
  /** ISO 8601 UTC with milliseconds; null while the revision is open. */
  effective_to: z.string().nullable(),
  /** Derived fields and the documented rule of each. */
  lineage: z.record(z.string(), z.string()),
})
export type DraftPassage = z.infer<typeof draftPassageSchema>

/** Parts of the chunk_id of a record's passages; source id, part number and text are the others. */
export type ChunkKey = readonly string[]

/** The drafts of one record, before what it derives from all records is known. */
export interface RecordDrafts {
  /** Name of the provision, equal in every revision. */
  readonly provision: string
  readonly chunkKey: ChunkKey
  readonly drafts: readonly DraftPassage[]
}

export interface DraftInput {
  readonly knowledgeBaseId: string
  readonly snapshotId: string
  readonly sourceId: string
  readonly chunkKey: ChunkKey
  readonly recordTitle: string
  readonly fields: RecordFields
  /** The whole text, or its parts in order. */
  readonly parts: readonly TextPart[]
  readonly place: SourceRecord['captured']['place']
  /** Canonical forms of the provisions whose text the record holds. */
  readonly references: readonly string[]
}

/**
 * Returns every part as a passage, as if its record were the only one of its revision and had no successor. If one part
 * breaks a bound, returns the reason instead and keeps none.
 */
export function draftPassages(input: DraftInput): readonly DraftPassage[] | string {
  const drafts = input.parts.map((part, index) => draftOf(input, part, index + 1))
  for (const draft of drafts) {
    const fault = boundFault(draft)
    if (fault !== undefined) return fault
  }
  return drafts
}

/** What the label of a part says of its lead-in: the lines before a line `[…]` are of an earlier part. */
const LEAD_IN_NOTES = {
  none: '',
  repeated: ', lead-in repeated',
  'not repeated': ', without its lead-in',
} as const satisfies Record<TextPart['leadIn'], string>

function draftOf(input: DraftInput, { own, at, text, leadIn }: TextPart, part: number): DraftPassage {
  const { knowledgeBaseId, snapshotId, sourceId, chunkKey, recordTitle, fields, parts } = input
  const documentId = documentIdOf(knowledgeBaseId, fields.documentKey)
  return {
    chunk_id: chunkId([...chunkKey, sourceId, String(part)], text),
    text,
    document: {
      id: documentId,
      revision_id: revisionIdOf(documentId, fields.effectiveAt, fields.effectiveTo ?? null, fields.publishedAt),
      title: fields.title,
      authority: fields.authority,
      canonical_url: fields.canonicalUrl,
      published_at: fields.publishedAt,
      effective_at: fields.effectiveAt,
    },
    citation: {
      label:
        parts.length === 1 ? fields.label : `${fields.label} (part ${part} of ${parts.length}${LEAD_IN_NOTES[leadIn]})`,
      source_anchor: sourceAnchor(fields.canonicalUrl, fields.publisherFragment, own, part, fields.language),
      source_snapshot_id: snapshotId,
    },
    metadata: { language: fields.language, jurisdiction: fields.jurisdiction, verification_status: fields.status },
    subjects: [...fields.subjects],
    in_force_from: dayOf(fields.effectiveAt),
    in_force_to: fields.effectiveTo === undefined ? null : dayOf(fields.effectiveTo),
    source_id: sourceId,
    heading: fields.heading ?? [fields.title, recordTitle].filter((each) => each !== '').join(' › '),
    references: [...input.references],
    provision: provisionIdOf(documentId, fields.language, fields.provision, 0, part),
    selector: input.place(at, at + own.length),
    ordinal: 0,
    document_key: fields.documentKey,
    effective_to: fields.effectiveTo ?? null,
    lineage: { ...fields.lineage },
  }
}

export function documentIdOf(knowledgeBaseId: string, documentKey: FoldedKey): string {
  return derivedUuid('document', knowledgeBaseId, documentKey)
}

function revisionIdOf(documentId: string, from: string, to: string | null, published: string): string {
  return derivedUuid('revision', documentId, from, to ?? '', published)
}

/** A provision in another language is another one, so no language changes the ids of another. */
function provisionIdOf(
  documentId: string,
  language: string,
  provision: string,
  occurrence: number,
  part: number,
): string {
  return derivedUuid('provision', documentId, language, provision, String(occurrence), String(part))
}

/** Fields of a record that depend on the other records of the import. */
export interface DerivedFields {
  /** Number of earlier records of the same provision in the revision as it is stated. */
  readonly occurrence: number
  /** ISO 8601 UTC with milliseconds; null while the text is open. */
  readonly effectiveTo: string | null
  /** The documented rule by which the end is derived; undefined where it is the stated one. */
  readonly endDerived: string | undefined
  /** Ordinal of the first part. */
  readonly ordinal: number
  /** The number that makes the id distinct from an earlier record's; null where the id is the publisher's. */
  readonly number: number | null
}

/** Returns the passages of a record with the fields that other records decide; only the number changes a chunk_id. */
export function finalDrafts(
  { provision, chunkKey, drafts }: RecordDrafts,
  { occurrence, effectiveTo, endDerived, ordinal, number }: DerivedFields,
): readonly DraftPassage[] {
  return drafts.map((draft, index) => {
    const { id, effective_at, published_at } = draft.document
    const sourceId = number === null ? draft.source_id : numberedId(draft.source_id, number)
    return {
      ...draft,
      chunk_id: number === null ? draft.chunk_id : chunkId([...chunkKey, sourceId, String(index + 1)], draft.text),
      source_id: sourceId,
      document: { ...draft.document, revision_id: revisionIdOf(id, effective_at, effectiveTo, published_at) },
      in_force_to: effectiveTo === null ? null : dayOf(effectiveTo),
      provision: provisionIdOf(id, draft.metadata.language, provision, occurrence, index + 1),
      ordinal: ordinal + index,
      effective_to: effectiveTo,
      lineage: endDerived === undefined ? draft.lineage : { ...draft.lineage, effective_to: endDerived },
    }
  })
}

const recordSchema = passageRecordSchema.omit({ position: true }).loose()

function boundFault(draft: DraftPassage): string | undefined {
  if (isLongerThan(draft.text, INDEX_BOUNDS.passageCharactersMax))
    return `part longer than ${INDEX_BOUNDS.passageCharactersMax} characters`
  if (isLongerThan(draft.citation.label, IMPORT_BOUNDS.labelCharactersMax))
    return `citation_label longer than ${IMPORT_BOUNDS.labelCharactersMax} characters`
  if (draft.citation.source_anchor.length > IMPORT_BOUNDS.urlCharactersMax)
    return `source anchor longer than ${IMPORT_BOUNDS.urlCharactersMax} characters`
  if (isLongerThan(draft.source_id, IMPORT_BOUNDS.sourceIdCharactersMax))
    return `source id longer than ${IMPORT_BOUNDS.sourceIdCharactersMax} characters`
  if (isLongerThan(draft.heading, IMPORT_BOUNDS.headingCharactersMax))
    return `heading longer than ${IMPORT_BOUNDS.headingCharactersMax} characters`
  if (Buffer.byteLength(JSON.stringify(draft)) > INDEX_BOUNDS.passageJsonBytesMax)
    return `passage larger than ${INDEX_BOUNDS.passageJsonBytesMax} bytes as JSON`
  return recordSchema.safeParse(draft).success ? undefined : 'does not satisfy the schema of a passage'
}

/** The documented rules by which the end of a text is derived; kept in the lineage of its revision. */
const DERIVED_ENDS = {
  document: 'day on which the next revision of the document takes effect',
  provision: 'day on which the next revision of the provision takes effect',
} as const

/** Returns the derived fields of a record's drafts as the staging file has it. */
export function derivedFieldsOf(
  { occurrence, effective_to, derived, ordinal, number }: KeptRecord,
  { revises }: Pick<Mapping, 'revises'>,
): DerivedFields {
  return {
    occurrence,
    effectiveTo: effective_to === null ? null : new Date(effective_to).toISOString(),
    endDerived: derived ? DERIVED_ENDS[revises ?? 'document'] : undefined,
    ordinal,
    number,
  }
}
