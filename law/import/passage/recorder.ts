import type { ActEntry } from '#core/index/references/layout.ts'
import { foldKey } from '#core/identity/fold.ts'
import { INDEX_BOUNDS } from '#core/index/bounds.ts'
import { orderKeyOf } from '#law/import/staging/rows.ts'
import type { EarlierRecord, Staging } from '#law/import/staging/staging.ts'
import { documentIdOf, draftPassages } from './draft.ts'
import type { RecordDrafts } from './draft.ts'
import type { DraftsFile } from './drafts-file.ts'
import { fieldsOf } from './fields.ts'
import type { RecordFields } from './fields.ts'
import { slugOf } from '#law/readers/heading-anchors.ts'
import { hashOf, identityOf, isServed, lawOf, sourceIdOf, writtenIn } from './identity.ts'
import { isFoundAgain } from './found-again.ts'
import type { FieldName, Mapping } from '../mapping/mapping.ts'
import {
  looksLikeEnd,
  metadataFieldOf,
  readFieldsOf,
  shownName,
  sourcesOf,
  unreadFields,
} from '../mapping/read-fields.ts'
import type { SourceRecord } from '../record/record.ts'
import { partsOf } from '../parts/parts.ts'
import type { TextPart } from '../parts/parts.ts'
import { createReferenceReader } from './references.ts'
import type { SkipKind } from '../report/report.ts'
import { compileMapping } from './resolve.ts'
import { isBlank, sameApartFromSpace } from '#law/readers/text.ts'

export interface RecorderDeps {
  readonly knowledgeBaseId: string
  readonly mapping: Mapping
  readonly staging: Staging
  /** Absent: nothing needs the passages themselves. */
  readonly drafts: DraftsFile | undefined
}

/** Outcome of a record. */
export type Recorded =
  /** `unproved`: its text was not found again in the captured bytes, so it stays declared by its source. */
  | { readonly kind: 'staged'; readonly unproved: boolean; readonly lineage: RecordFields['lineage'] }
  /** `line`: where the source states what is not understood, if that is not the record's line. */
  | { readonly kind: 'skipped'; readonly skip: SkipKind; readonly reason: string; readonly line?: number }
  | { readonly kind: 'refused'; readonly contradiction: 'dates' | 'anchor' | 'unread'; readonly reason: string }
  | { readonly kind: 'skipped'; readonly skip: 'intended'; readonly reason: string; readonly first: EarlierRecord }

/** A record that is not yet compared with the others. */
interface Mapped {
  readonly record: SourceRecord
  readonly fields: RecordFields
  readonly act: ActEntry | undefined
  readonly references: readonly string[]
  readonly parts: readonly TextPart[]
}

/** The reason of a heading that another revision may number differently. */
const NUMBERED_ANCHOR =
  'its anchor is numbered, because an earlier heading of the file has the same words, and "revises" is "provision"'

/** The reason of a record that repeats an earlier one. */
export const DUPLICATE = 'same id and text as another record'

/** Returns a function that makes a record's passages and stages the record, or says why there are none. */
export function createRecorder(
  deps: RecorderDeps,
): (record: SourceRecord, source: number, snapshotId: string) => Promise<Recorded> {
  const { mapping, staging } = deps
  const map = createMapper(mapping)
  /** Of the last record: neighbours mostly share a language. */
  let last = { language: '', written: '' }
  return async (record, source, snapshotId) => {
    const mapped = map(record)
    if ('kind' in mapped) return mapped
    const { fields, act } = mapped
    const { language } = fields
    if (last.language !== language) last = { language, written: writtenIn(language) }
    const { written } = last
    const identity = identityOf(mapping.format, record.id, { ...fields, written })
    const digest = hashOf([JSON.stringify([fields, record.title, record.text, mapped.references])])
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
      document: { id: documentIdOf(deps.knowledgeBaseId, fields.documentKey), key: fields.documentKey },
      written,
      law: lawOf(fields, written),
      served: isServed(fields),
      label: fields.label,
      provision: hashOf([fields.provision]),
      cited: hashOf([foldKey(citedAs(record, fields))]),
      anchor: anchorOf(fields),
      text: hashOf([record.text.trim().replaceAll(/\s+/g, ' ')]),
      effectiveAtMs: Date.parse(fields.effectiveAt),
      effectiveToMs: fields.effectiveTo === undefined ? null : Date.parse(fields.effectiveTo),
      publishedAtMs: Date.parse(fields.publishedAt),
      digest,
      facets: JSON.stringify([fields.language, fields.jurisdiction, fields.status, fields.subjects]),
      act: act === undefined ? null : JSON.stringify(act),
      parts: made.drafts.length,
      referenced: mapped.references.some((reference) => reference.includes('#')) ? made.drafts.length : 0,
      orderKey: orderKeyOf([fields.language, fields.jurisdiction, fields.subjects[0] ?? '']),
      repeats: same?.first.seq ?? null,
      offset: position?.offset ?? 0,
      bytes: position?.bytes ?? 0,
    })
    return { kind: 'staged', unproved: fields.status === 'source-declared', lineage: fields.lineage }
  }
}

/**
 * Returns what a record is cited as. A heading below a provision counts by its own name. Chapters of a Markdown file may
 * have headings with the same words, so that a heading counts with those above it.
 */
function citedAs(
  { values, captured: { format } }: SourceRecord,
  { label, reference, heading, provision }: RecordFields,
): string {
  if (format !== 'markdown') return label
  return values.has('section.within') ? provision : (reference ?? heading ?? provision)
}

function anchorOf({ canonicalUrl, publisherFragment }: RecordFields): Buffer | null {
  return publisherFragment === undefined ? null : hashOf([foldKey(`${canonicalUrl}#${publisherFragment}`)])
}

/** Returns a function that maps a record, or gives the reason why it is no evidence. */
function createMapper(mapping: Mapping): (record: SourceRecord) => Mapped | Recorded {
  const resolve = compileMapping(mapping)
  const read = readFieldsOf(mapping)
  const readReferences = createReferenceReader({ byLabel: mapping.fields.reference === undefined })
  return (record) => {
    const unknown = fieldFault(record, mapping, read)
    if (unknown !== undefined) return unknown
    const resolved = resolve(record)
    if (resolved.skip !== undefined) return { kind: 'skipped', skip: 'intended', reason: resolved.skip }
    const blank = noEvidence(record)
    if (blank !== undefined) return { kind: 'skipped', skip: 'lost', reason: blank }
    const fields = fieldsOf(resolved)
    if ('reason' in fields) {
      const { reason, contradiction } = fields
      return contradiction !== undefined && mapping.reversed_dates === 'refuse'
        ? { kind: 'refused', contradiction, reason }
        : { kind: 'skipped', skip: 'lost', reason, ...lineOfField(fields.field, record, mapping) }
    }
    if (mapping.revises === 'provision' && hasNumberedAnchor(record, fields))
      return { kind: 'refused', contradiction: 'anchor', reason: NUMBERED_ANCHOR }
    const parts = partsOf(record.text, fields.language, INDEX_BOUNDS.passageCharactersMax)
    if (!sameApartFromSpace(parts.map(({ own }) => own).join(''), record.text))
      return { kind: 'skipped', skip: 'lost', reason: 'the text is not whole in its parts' }
    return { record, fields: withProof(fields, record, parts), ...readReferences(fields), parts }
  }
}

/** What a source declares is verified where its text is found again in the captured bytes. */
function withProof(fields: RecordFields, record: SourceRecord, parts: readonly TextPart[]): RecordFields {
  return fields.status === 'source-declared' && isFoundAgain(record, parts) ? { ...fields, status: 'verified' } : fields
}

/** Returns the fault of a record whose fields the mapping does not understand, or undefined. */
function fieldFault(
  { stated }: SourceRecord,
  { ignored_fields: ignored }: Mapping,
  read: ReadonlySet<string>,
): Recorded | undefined {
  for (const [name, { text }] of stated)
    if (read.has(name) && text === undefined && !ignored.includes(name))
      return { kind: 'skipped', skip: 'lost', reason: `${name} is neither a plain value nor a list of them` }
  for (const [name, text] of unreadFields(stated, read)) {
    if (!looksLikeEnd(name, text)) continue
    const reason = `${shownName(name)} may state an end or a status, and the mapping does not read it`
    return { kind: 'refused', contradiction: 'unread', reason }
  }
  return undefined
}

/** Returns the line of the front matter that states a field, where it does. */
function lineOfField(
  field: FieldName | undefined,
  { stated }: SourceRecord,
  mapping: Mapping,
): { readonly line?: number } {
  const rule = field === undefined ? undefined : mapping.fields[field]
  const sources = rule === undefined ? [] : sourcesOf(rule, mapping).flatMap(metadataFieldOf)
  const line = sources.map((name) => stated.get(name)?.line).find((found) => found !== undefined)
  return line === undefined ? {} : { line }
}

/** Whether a provision is named by a generated anchor with a number, which depends on the headings before it. */
function hasNumberedAnchor({ id, title, values, captured: { format } }: SourceRecord, fields: RecordFields): boolean {
  if (format !== 'markdown' || values.has('section.fragment') || !fields.provision.includes(foldKey(id))) return false
  const generated = slugOf(title)
  return generated === '' ? /-\d+$/.test(id) : id !== generated
}

function draftsOf(
  { knowledgeBaseId, mapping }: RecorderDeps,
  { record, fields, parts, references }: Mapped,
  snapshotId: string,
): RecordDrafts | string {
  const { documentKey, effectiveAt, language, provision } = fields
  const chunkKey = [knowledgeBaseId, documentKey, effectiveAt, ...(mapping.format === 'jsonl' ? [] : [language])]
  const drafts = draftPassages({
    knowledgeBaseId,
    snapshotId,
    sourceId: sourceIdOf(mapping.format, record.id, fields),
    chunkKey,
    recordTitle: record.title,
    fields,
    parts,
    place: record.captured.place,
    references,
  })
  return typeof drafts === 'string' ? drafts : { provision, chunkKey, drafts }
}

/** Returns the reason why a text is no evidence under any mapping, or undefined. */
function noEvidence({ text, title }: SourceRecord): string | undefined {
  if (isBlank(text)) return 'text is blank'
  return title !== '' && text.trim() === title ? 'text only repeats its title' : undefined
}
