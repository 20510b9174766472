import { passageRecordSchema } from '#core/index/passages/record.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { BOUNDS } from '#core/platform/bounds.ts'
import { chunkId, derivedUuid } from '#core/platform/ids.ts'
import { sourceAnchor } from './anchor.ts'
import { dayOf } from './dates.ts'
import type { Placed } from './place.ts'
import { codePointsOf } from './text.ts'

/** A passage before the number of passages of its document is known. */
export interface DraftPassage extends Omit<PassageRecord, 'place'> {
  /** Place within the revision, from 0, in the order of the source. */
  readonly ordinal: number
  readonly document_key: string
  /** ISO 8601 UTC with milliseconds; null while the revision is open. */
  readonly effective_to: string | null
  /** Derived fields and the documented rule of each. */
  readonly lineage: Readonly<Record<string, string>>
}

export interface DraftInput {
  readonly knowledgeBaseId: string
  readonly snapshotId: string
  readonly sourceId: string
  readonly recordTitle: string
  readonly placed: Placed
  /** The passage's text, or its parts in order. */
  readonly texts: readonly string[]
  /** Canonical forms of the provisions whose text the record holds. */
  readonly references: readonly string[]
  /** Number of earlier records of the same revision with the same provision. */
  readonly occurrence: number
}

/**
 * Returns every part as a passage with ordinal 0. If one part breaks a bound, returns the reason instead and keeps
 * none.
 */
export function draftPassages(input: DraftInput): readonly DraftPassage[] | string {
  const drafts = input.texts.map((text, index) => draftOf(input, text, index + 1))
  for (const draft of drafts) {
    const fault = boundFault(draft)
    if (fault !== undefined) return fault
  }
  return drafts
}

function draftOf(input: DraftInput, text: string, part: number): DraftPassage {
  const { knowledgeBaseId, snapshotId, sourceId, recordTitle, placed, texts } = input
  const documentId = derivedUuid('document', knowledgeBaseId, placed.documentKey)
  const revision = [placed.effectiveAt, placed.effectiveTo ?? '', placed.publishedAt]
  return {
    chunk_id: chunkId([knowledgeBaseId, placed.documentKey, placed.effectiveAt, sourceId, String(part)], text),
    text,
    document: {
      id: documentId,
      revision_id: derivedUuid('revision', documentId, ...revision),
      title: placed.title,
      authority: placed.authority,
      canonical_url: placed.canonicalUrl,
      published_at: placed.publishedAt,
      effective_at: placed.effectiveAt,
    },
    citation: {
      label: texts.length === 1 ? placed.label : `${placed.label} (part ${part} of ${texts.length})`,
      source_anchor: sourceAnchor(placed.canonicalUrl, placed.publisherFragment, text, part),
      source_snapshot_id: snapshotId,
    },
    metadata: { language: placed.language, jurisdiction: placed.jurisdiction, verification_status: placed.status },
    subjects: [...placed.subjects],
    in_force_from: dayOf(placed.effectiveAt),
    in_force_to: placed.effectiveTo === undefined ? null : dayOf(placed.effectiveTo),
    source_id: sourceId,
    heading: placed.heading ?? [placed.title, recordTitle].filter((each) => each !== '').join(' › '),
    references: [...input.references],
    provision: derivedUuid('provision', documentId, placed.provision, String(input.occurrence), String(part)),
    ordinal: 0,
    document_key: placed.documentKey,
    effective_to: placed.effectiveTo ?? null,
    lineage: placed.lineage,
  }
}

const recordSchema = passageRecordSchema.omit({ place: true }).loose()

function boundFault(draft: DraftPassage): string | undefined {
  if (codePointsOf(draft.text) > BOUNDS.passageCharactersMax)
    return `part longer than ${BOUNDS.passageCharactersMax} characters`
  if (codePointsOf(draft.citation.label) > BOUNDS.labelCharactersMax)
    return `citation_label longer than ${BOUNDS.labelCharactersMax} characters`
  if (draft.citation.source_anchor.length > BOUNDS.urlCharactersMax)
    return `source anchor longer than ${BOUNDS.urlCharactersMax} characters`
  if (codePointsOf(draft.source_id) > BOUNDS.sourceIdCharactersMax)
    return `source id longer than ${BOUNDS.sourceIdCharactersMax} characters`
  if (codePointsOf(draft.heading) > BOUNDS.headingCharactersMax)
    return `heading longer than ${BOUNDS.headingCharactersMax} characters`
  if (Buffer.byteLength(JSON.stringify(draft)) > BOUNDS.passageJsonBytesMax)
    return `passage larger than ${BOUNDS.passageJsonBytesMax} bytes as JSON`
  return recordSchema.safeParse(draft).success ? undefined : 'does not satisfy the schema of a passage'
}
