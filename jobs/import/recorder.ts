import { orderKeyOf } from '#core/db/staging/rows.ts'
import { dayNumberOf } from '#core/db/staging/staging.ts'
import type { EarlierRecord, Staging } from '#core/db/staging/staging.ts'
import { BOUNDS } from '#core/platform/bounds.ts'
import type { ActEntry } from '#core/index/references/layout.ts'
import { actText, facetsText } from './described.ts'
import { documentIdOf, draftPassages } from './draft.ts'
import type { DraftPassage } from './draft.ts'
import type { DraftsFile } from './drafts-file.ts'
import { hashOf, identify, identityOf } from './identity.ts'
import type { Identity } from './identity.ts'
import type { Mapping } from './mapping.ts'
import { placeOf } from './place.ts'
import type { Placed } from './place.ts'
import type { SourceRecord } from './record.ts'
import { createReferenceReader } from './references.ts'
import type { SkipKind } from './report.ts'
import { compileMapping } from './resolve.ts'
import { splitText } from './split.ts'
import { isBlank } from './text.ts'

export interface RecorderDeps {
  readonly knowledgeBaseId: string
  readonly mapping: Mapping
  readonly staging: Staging
  /** Absent: nothing needs the passages themselves. */
  readonly drafts: DraftsFile | undefined
}

/** What became of a record. */
export type Recorded =
  | { readonly kind: 'staged' }
  | { readonly kind: 'distinct'; readonly id: string; readonly first: EarlierRecord }
  | { readonly kind: 'skipped'; readonly skip: SkipKind; readonly reason: string }
  | { readonly kind: 'skipped'; readonly skip: 'intended'; readonly reason: string; readonly first: EarlierRecord }

/** A record that is not yet compared with the others. */
interface Mapped {
  readonly record: SourceRecord
  readonly placed: Placed
  readonly act: ActEntry | undefined
  readonly references: readonly string[]
  readonly texts: readonly string[]
}

/** The reason of a record that repeats an earlier one. */
export const DUPLICATE = 'same id and text as another record'

/** Returns a function that makes a record's passages and stages the record, or says why there are none. */
export function createRecorder(
  deps: RecorderDeps,
): (record: SourceRecord, source: number, snapshotId: string) => Promise<Recorded> {
  const { mapping, staging } = deps
  const map = createMapper(mapping)
  return async (record, source, snapshotId) => {
    const mapped = map(record)
    if ('reason' in mapped) return { kind: 'skipped', ...mapped }
    const { placed, act } = mapped
    const documentId = documentIdOf(deps.knowledgeBaseId, placed.documentKey)
    const [effectiveAtMs, publishedAtMs] = [Date.parse(placed.effectiveAt), Date.parse(placed.publishedAt)]
    const digest = hashOf([JSON.stringify([placed, record.title, record.text, mapped.references])])
    const day = dayNumberOf(effectiveAtMs)
    const identity = identify(staging, mapping.format, { record, placed, source, documentId, day, digest })
    if (identity.kind === 'duplicate' && identity.first.source === source)
      return { kind: 'skipped', skip: 'intended', reason: DUPLICATE, first: identity.first }
    const drafts = draftsOf(deps, mapped, identity, snapshotId)
    if (typeof drafts === 'string') return { kind: 'skipped', skip: 'lost', reason: drafts }

    const position = await deps.drafts?.append({ provision: placed.provision, drafts })
    const seq = staging.add({
      source,
      line: record.line,
      id: record.id,
      identity: identityOf(mapping.format, record.id, placed),
      document: { id: documentId, key: placed.documentKey },
      language: placed.language,
      provision: hashOf([placed.provision]),
      effectiveAtMs,
      effectiveToMs: placed.effectiveTo === undefined ? null : Date.parse(placed.effectiveTo),
      publishedAtMs,
      digest,
      facets: facetsText(placed),
      act: actText(act),
      parts: drafts.length,
      referenced: mapped.references.some((reference) => reference.includes('#')) ? drafts.length : 0,
      orderKey: orderKeyOf([placed.language, placed.jurisdiction, placed.subjects[0] ?? '']),
      duplicateOf: identity.kind === 'duplicate' ? identity.first.seq : null,
      offset: position?.offset ?? 0,
      bytes: position?.bytes ?? 0,
    })
    return noted(deps, identity, seq, placed)
  }
}

function noted({ staging, mapping }: RecorderDeps, identity: Identity, seq: number, placed: Placed): Recorded {
  if (identity.kind === 'conflict') staging.noteConflict(seq, identity.first.seq)
  if (identity.kind !== 'distinct') return { kind: 'staged' }
  staging.noteGivenId(seq, identityOf(mapping.format, identity.id, placed))
  return identity
}

/** Returns a function that maps a record, or gives the reason why it is no evidence. */
function createMapper(
  mapping: Mapping,
): (record: SourceRecord) => Mapped | { readonly reason: string; readonly skip: SkipKind } {
  const resolve = compileMapping(mapping)
  const readReferences = createReferenceReader({ byLabel: mapping.fields.reference === undefined })
  return (record) => {
    const resolved = resolve(record)
    if (resolved.skip !== undefined) return { reason: resolved.skip, skip: 'intended' }
    const placed = noEvidence(record) ?? placeOf(resolved)
    if (typeof placed === 'string') return { reason: placed, skip: 'lost' }
    const texts = splitText(record.text, placed.language, BOUNDS.passageCharactersMax)
    return { record, placed, ...readReferences(placed), texts }
  }
}

function draftsOf(
  { knowledgeBaseId, mapping }: RecorderDeps,
  { record, placed, texts, references }: Mapped,
  { id }: Identity,
  snapshotId: string,
): readonly DraftPassage[] | string {
  return draftPassages({
    knowledgeBaseId,
    snapshotId,
    sourceId: mapping.format === 'markdown' ? `${placed.documentKey}#${id}` : id,
    recordTitle: record.title,
    placed,
    texts,
    references,
  })
}

/** Returns the reason why a text is no evidence under any mapping, or undefined. */
function noEvidence({ text, title }: SourceRecord): string | undefined {
  if (isBlank(text)) return 'text is blank'
  return title !== '' && text.trim() === title ? 'text only repeats its title' : undefined
}
