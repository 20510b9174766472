import { orderKeyOf } from '#core/db/staging/rows.ts'
import type { EarlierRecord, Staging } from '#core/db/staging/staging.ts'
import { BOUNDS } from '#core/platform/bounds.ts'
import type { ActEntry } from '#core/index/references/layout.ts'
import { actText, facetsText } from './described.ts'
import { documentIdOf, draftPassages } from './draft.ts'
import type { RecordDrafts } from './draft.ts'
import type { DraftsFile } from './drafts-file.ts'
import { slugOf } from './heading-anchors.ts'
import { hashOf, identityOf, sourceIdOf } from './identity.ts'
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

/** The reason of a heading that another revision may number differently. */
export const NUMBERED_ANCHOR = 'its anchor is numbered, because an earlier heading of the file has the same words'

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
    const identity = identityOf(mapping.format, record.id, placed)
    const digest = hashOf([JSON.stringify([placed, record.title, record.text, mapped.references])])
    const same = staging.same(identity, digest)
    if (same?.last.source === source) return { kind: 'skipped', skip: 'intended', reason: DUPLICATE, first: same.last }
    const made = draftsOf(deps, mapped, snapshotId)
    if (typeof made === 'string') return { kind: 'skipped', skip: 'lost', reason: made }

    const position = await deps.drafts?.append(made)
    staging.add({
      source,
      line: record.line,
      id: record.id,
      identity,
      document: { id: documentIdOf(deps.knowledgeBaseId, placed.documentKey), key: placed.documentKey },
      language: placed.language,
      provision: hashOf([placed.provision]),
      cited: hashOf([citedAs(mapping.format, placed)]),
      effectiveAtMs: Date.parse(placed.effectiveAt),
      effectiveToMs: placed.effectiveTo === undefined ? null : Date.parse(placed.effectiveTo),
      publishedAtMs: Date.parse(placed.publishedAt),
      digest,
      facets: facetsText(placed),
      act: actText(act),
      parts: made.drafts.length,
      referenced: mapped.references.some((reference) => reference.includes('#')) ? made.drafts.length : 0,
      orderKey: orderKeyOf([placed.language, placed.jurisdiction, placed.subjects[0] ?? '']),
      repeats: same?.first.seq ?? null,
      offset: position?.offset ?? 0,
      bytes: position?.bytes ?? 0,
    })
    return { kind: 'staged' }
  }
}

/** Headings share a label where they share words; only what a Markdown file cites as a provision is compared. */
function citedAs(format: Mapping['format'], { label, reference, provision }: Placed): string {
  return format === 'jsonl' ? label : (reference ?? provision)
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
    if (mapping.revises === 'provision' && hasNumberedAnchor(mapping.format, record, placed))
      return { reason: NUMBERED_ANCHOR, skip: 'lost' }
    const texts = splitText(record.text, placed.language, BOUNDS.passageCharactersMax)
    return { record, placed, ...readReferences(placed), texts }
  }
}

/** Whether a provision is named by a generated anchor with a number, which depends on the headings before it. */
function hasNumberedAnchor(format: Mapping['format'], { id, title, section }: SourceRecord, placed: Placed): boolean {
  if (format !== 'markdown' || section?.has('section.fragment') === true || !placed.provision.includes(id)) return false
  const generated = slugOf(title)
  return generated === '' ? /-\d+$/.test(id) : id !== generated
}

function draftsOf(
  { knowledgeBaseId, mapping }: RecorderDeps,
  { record, placed, texts, references }: Mapped,
  snapshotId: string,
): RecordDrafts | string {
  const { documentKey, effectiveAt, language, provision } = placed
  const chunkPlace = [knowledgeBaseId, documentKey, effectiveAt, ...(mapping.format === 'markdown' ? [language] : [])]
  const drafts = draftPassages({
    knowledgeBaseId,
    snapshotId,
    sourceId: sourceIdOf(mapping.format, record.id, placed),
    chunkPlace,
    recordTitle: record.title,
    placed,
    texts,
    references,
  })
  return typeof drafts === 'string' ? drafts : { provision, chunkPlace, drafts }
}

/** Returns the reason why a text is no evidence under any mapping, or undefined. */
function noEvidence({ text, title }: SourceRecord): string | undefined {
  if (isBlank(text)) return 'text is blank'
  return title !== '' && text.trim() === title ? 'text only repeats its title' : undefined
}
