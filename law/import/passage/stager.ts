import { INDEX_BOUNDS } from '#core/index/bounds.ts'
import { derivedUuid } from '#core/platform/ids.ts'
import { memoized } from '#core/platform/memoized.ts'
import { IMPORT_BOUNDS } from '#law/import/bounds.ts'
import type { Mapping } from '#law/import/mapping/mapping.ts'
import { readFieldsOf, unreadFields } from '#law/import/mapping/read-fields.ts'
import { sourceAnchor } from '#law/import/parts/anchor.ts'
import { partsOf, type TextPart } from '#law/import/parts/parts.ts'
import type { SourceItem, SourceRecord, SourceSnapshot } from '#law/import/record/record.ts'
import { jsonlRecords } from '#law/import/record/jsonl.ts'
import { createLawReader } from '#law/import/record/law.ts'
import { markdownRecords } from '#law/import/record/markdown.ts'
import type { Finding } from '#law/import/report/findings.ts'
import { locationOf, shownLocation, type RecordLocation } from '#law/import/report/report.ts'
import { orderKeyOf } from '#law/import/staging/rows.ts'
import { openReadFiles } from '#law/import/staging/read-files.ts'
import type { StagedRow, Staging } from '#law/import/staging/staging.ts'
import { sameApartFromSpace } from '#law/readers/text.ts'
import { FORMATS_OF_SOURCES } from '#law/sources/list.ts'
import { instantOf } from '../mapping/dates.ts'
import { createFieldReader, keyOf, type RecordFields, type Unusable } from './fields.ts'
import { isQuoteVerified } from './quote-verification.ts'
import { hashOf, identityOf, lawOf, sourceIdOf, writtenIn } from './identity.ts'
import { createNameCheck } from './references.ts'
import { passageFault, passagesOf, type StagedRecord } from './passage.ts'
import type { StagedRecordsFile } from './staged-records-file.ts'

export interface StageInput {
  readonly knowledgeBaseId: string
  readonly mapping: Mapping
  readonly snapshots: readonly SourceSnapshot[]
  /** Names of files in the source folder that are not read, for the report. */
  readonly leftOut?: readonly string[]
  readonly signal?: AbortSignal | undefined
  readonly onRecord?: () => void
  readonly held?: ReturnType<typeof heldFiles>
  /** Nobody reads what the kept records hold, because the report of the import has it. */
  readonly isBuild?: boolean
}

type Add = (row: Omit<StagedRow, 'at' | 'bytes'>, staged: StagedRecord | undefined) => Promise<void>
/** What one file gave. A record that goes to no file of staged records has only its row. */
type ReadFile = { readonly findings: Finding[]; readonly rows: Parameters<Add>[] }

/** Opens what an interrupted import of the same files and mapping has read; of JSONL nothing is kept. */
export function heldFiles(path: string, { knowledgeBaseId, mapping, snapshots }: Omit<StageInput, 'held'>) {
  if (mapping.format === 'jsonl') return undefined
  const names = snapshots.map(({ id, sourceName, mediaType }) => [id, sourceName, mediaType])
  return openReadFiles<ReadFile>(path, [knowledgeBaseId, { ...mapping, accepted_losses: [] }, names])
}

/**
 * Reads the sources into the staging file: read and parse → map → split → identify. Yields what is not staged as the
 * source has it. Holds one record (for Markdown, one file) in memory. The staged records go to a file where one is given.
 */
export async function* stageSources(
  input: StageInput,
  staging: Staging,
  file: StagedRecordsFile | undefined,
): AsyncGenerator<Finding> {
  const { mapping, snapshots, signal, leftOut = [], held } = input
  const itemsOf = createSourceReader(input)
  let read: ReadFile | undefined
  const add: Add = async (row, staged) => {
    const { offset: at, bytes } = (staged && (await file?.append(staged))) ?? { offset: 0, bytes: 0 }
    staging.add({ ...row, at, bytes })
    read?.rows.push([row, file && staged])
  }
  const stage = createStager(input, staging, add)
  const format = FORMATS_OF_SOURCES[mapping.format]
  for (const source of leftOut) {
    const skip = format.mayBelong(source) ? 'lost' : 'intended'
    yield { kind: 'skipped', skip, entry: { source, line: 1, reason: format.leftOut } }
  }
  for (const [index, snapshot] of snapshots.entries()) {
    signal?.throwIfAborted()
    yield { kind: 'file' }
    read = held && { rows: [], findings: [] }
    const known = held?.take(index)
    for (const row of known?.rows ?? []) await add(...row)
    yield* known?.findings ?? []
    if (known !== undefined) continue
    for await (const item of itemsOf(snapshot)) {
      signal?.throwIfAborted()
      if (item.kind === 'record' || item.kind === 'fault') input.onRecord?.()
      const found = item.kind === 'record' ? await stage(item, index, snapshot) : [itemFinding(item, snapshot)]
      yield* found
      read?.findings.push(...found)
    }
    if (read !== undefined) held?.keep(index, read)
  }
  await file?.flush()
}

function itemFinding(item: Exclude<SourceItem, SourceRecord>, { sourceName: source }: SourceSnapshot): Finding {
  if (item.kind !== 'fault') return { source, ...item }
  const { line, id, reason, text } = item
  return { kind: 'skipped', skip: 'lost', entry: { source, line, id, reason, text: text && shownInReport(text) } }
}

export function createSourceReader({ mapping, snapshots, signal }: StageInput) {
  const known = readFieldsOf(mapping)
  switch (mapping.format) {
    case 'jsonl':
      return ({ path }: SourceSnapshot): AsyncGenerator<SourceItem> => jsonlRecords(path, signal)
    case 'markdown':
      return ({ path }: SourceSnapshot): AsyncGenerator<SourceItem> => markdownRecords(path, known)
    case 'law':
      return createLawReader(known, snapshots)
    default:
      return mapping.format satisfies never
  }
}

/** The start of a text that is not served, as a database can store it. */
function shownInReport(text: string): string {
  return text.slice(0, IMPORT_BOUNDS.reportTextMax).toWellFormed().replaceAll('\0', '\uFFFD')
}

/** The reason of a record that repeats an earlier one. */
export const DUPLICATE = 'same id and text as another record'

const UNPROVED = 'its text is not found again in the captured bytes, so it is source-declared and not served by default'

type Stage = (record: SourceRecord, source: number, snapshot: SourceSnapshot) => Promise<readonly Finding[]>

/** Returns a function that stages a record, and gives what is not staged as the source has it. */
function createStager(input: StageInput, staging: Staging, add: Add): Stage {
  const { mapping, snapshots } = input
  const read = createFieldReader(mapping)
  const known = readFieldsOf(mapping)
  const unnamedReason = createNameCheck()
  /** Of the last record: neighbours mostly share a language. */
  let last = { language: '', written: '' }
  return async (record, source, snapshot) => {
    const place = { source: snapshot.sourceName, line: record.line, id: record.id }
    const unread = Array.from(unreadFields(record.stated, known), ([name]) => ({ kind: 'unread', name }) as const)
    const staged = stagedOf(input, record, read(record), snapshot.id)
    if ('reason' in staged) return [...unread, findingOf(staged, record, place)]
    const { fields } = staged
    if (last.language !== fields.language) last = { language: fields.language, written: writtenIn(fields.language) }
    const { written } = last
    const identity = identityOf(mapping.format, record.id, { ...fields, written })
    const digest = hashOf([JSON.stringify([fields, record.title, record.text])])
    const same = staging.same(identity, digest)
    if (same?.source === source) {
      // The text of a repetition is served by the record that it repeats.
      const other = locationOf(snapshots, same)
      return [...unread, { kind: 'skipped', skip: 'intended', entry: { ...place, reason: DUPLICATE, other } }]
    }
    const fault = faultOf(staged, mapping)
    if (fault !== undefined) return [...unread, findingOf({ reason: fault, skip: 'lost' }, record, place)]
    await add({ ...rowOf(record, staged, written), source, identity, digest, repeats: same?.first ?? null }, staged)
    const unproved =
      fields.status === 'source-declared' && !isNoLawOfDay(record)
        ? [{ kind: 'loss', place, reason: UNPROVED } as const]
        : []
    // The reference of a JSONL record is the operator's own rule, so that it refuses nothing.
    const isOwn = mapping.format === 'jsonl'
    const reason = isOwn && fields.references.some(isProvision) ? undefined : unnamedReason(fields)
    const unnamed: readonly Finding[] =
      reason === undefined
        ? []
        : [isOwn ? { kind: 'warning', ...place, message: reason } : { kind: 'loss', place, reason }]
    const derived = Object.entries(fields.lineage).map(([field, rule]) => ({ kind: 'derived', field, rule }) as const)
    return [...unread, ...overruledDays(record, fields, place), ...unproved, ...unnamed, ...derived]
  }
}

/** Days that an editor states against those of the publisher, with both. */
function overruledDays(
  { values, line }: SourceRecord,
  { effectiveAt, effectiveTo, publishedAt }: RecordFields,
  { source }: RecordLocation,
): readonly Finding[] {
  const days = { published_at: publishedAt, effective_at: effectiveAt, effective_to: effectiveTo }
  return Object.entries(days).flatMap(([field, instant]) => {
    const stated = values.get(`metadata.${field}`)
    const [own, other] = [instant?.slice(0, 10), instantOf(stated ?? '')?.slice(0, 10)]
    if (other === undefined || own === other) return []
    const name = `${source}: ${field} ${own ?? 'none'} of the editor, ${other} of the publisher`
    return [{ kind: 'not understood', source, line, name, count: 1 }]
  })
}

function isProvision(reference: string): boolean {
  return reference.includes('#')
}

function findingOf(
  { reason, skip, contradiction, line }: Unusable,
  record: SourceRecord,
  place: RecordLocation,
): Finding {
  if (contradiction !== undefined) {
    const sentence = `${shownLocation(place)}: ${reason}`
    return { kind: 'contradiction', of: contradiction, sentence, group: `${place.source} ${reason}` }
  }
  const text = shownInReport(`${record.values.get('section.path') ?? record.title}\n${record.text}`)
  return { kind: 'skipped', skip, entry: { ...place, line: line ?? place.line, reason, text } }
}

/** Whether a text is as enacted, or the latest whatever its day: an operator has accepted that loss by name. */
function isNoLawOfDay({ captured, values }: SourceRecord): boolean {
  return captured.format === 'law' && values.has('metadata.text_state')
}

/** Cuts a record into parts. What its source declares is verified where the captured bytes hold its text. */
export function stagedOf(
  { knowledgeBaseId, mapping }: StageInput,
  record: SourceRecord,
  stated: RecordFields | Unusable,
  snapshotId: string,
): StagedRecord | Unusable {
  if ('reason' in stated) return stated
  const parts = partsOf(record.text, stated.language, INDEX_BOUNDS.passageCharactersMax)
  if (!sameApartFromSpace(parts.map(({ own }) => own).join(''), record.text))
    return { reason: 'the text is not whole in its parts', skip: 'lost' }
  const isProven = stated.status === 'source-declared' && !isNoLawOfDay(record) && isQuoteVerified(record, parts)
  const fields = isProven ? { ...stated, status: 'verified' as const } : stated
  const { documentKey, effectiveAt, language } = fields
  return {
    fields,
    sourceId: sourceIdOf(mapping.format, record.id, fields),
    snapshotId,
    documentId: derivedUuid('document', knowledgeBaseId, documentKey),
    chunkKey: [knowledgeBaseId, documentKey, effectiveAt, ...(mapping.format === 'jsonl' ? [] : [language])],
    heading: fields.heading ?? [fields.title, record.title].filter((each) => each !== '').join(' › '),
    parts: parts.map(({ own, at, text, leadIn, isUnclosed }, index) => ({
      text,
      label:
        parts.length === 1
          ? fields.label
          : `${fields.label} (part ${index + 1} of ${parts.length}${LEAD_IN_NOTES[leadIn]}${isUnclosed ? ', without its closing words' : ''})`,
      anchor: sourceAnchor(fields.canonicalUrl, fields.publisherFragment, own, index + 1, language),
      selector: record.captured.place(at, at + own.length),
    })),
  }
}

/** What the label of a part says of its lead-in: the lines before a line `[…]` are of an earlier part. */
const LEAD_IN_NOTES = {
  none: '',
  repeated: ', lead-in repeated',
  'not repeated': ', without its lead-in',
} as const satisfies Record<TextPart['leadIn'], string>

/** Returns why a part of a record can be no passage, whatever the other records decide; then none is kept. */
function faultOf(staged: StagedRecord, mapping: Mapping): string | undefined {
  const { effectiveTo } = staged.fields
  const effective_to = effectiveTo === undefined ? null : Date.parse(effectiveTo)
  const alone = { occurrence: 0, effective_to, derived: false, ordinal: 0, number: null }
  return passagesOf(staged, alone, mapping)
    .map(passageFault)
    .find((fault) => fault !== undefined)
}

const hashOfKey = memoized((key) => hashOf([key]), IMPORT_BOUNDS.rememberedTextsMax)

/** Returns what the staging file keeps of a record, without its place among the others. */
function rowOf(
  record: SourceRecord,
  { fields, documentId, parts }: StagedRecord,
  written: string,
): Omit<StagedRow, 'source' | 'identity' | 'digest' | 'repeats' | 'at' | 'bytes'> {
  const { canonicalUrl, effectiveTo, jurisdiction, language, publisherFragment, status, subjects } = fields
  return {
    line: record.line,
    id: record.id,
    document: { id: documentId, key: fields.documentKey },
    written,
    law: lawOf(fields, written),
    // A profile that says nothing else serves the record.
    served: status === 'verified',
    label: fields.label,
    provision: hashOfKey(fields.provision),
    cited: hashOfKey(keyOf(citedAs(record, fields))),
    anchor: publisherFragment === undefined ? null : hashOf([keyOf(`${canonicalUrl}#${publisherFragment}`)]),
    text: hashOf([record.text.trim().replaceAll(/\s+/g, ' ')]),
    effective_at: Date.parse(fields.effectiveAt),
    effective_to: effectiveTo === undefined ? null : Date.parse(effectiveTo),
    published_at: Date.parse(fields.publishedAt),
    facets: JSON.stringify([language, jurisdiction, status, subjects]),
    act: fields.act === undefined ? null : JSON.stringify(fields.act),
    parts: parts.length,
    referenced: fields.references.some(isProvision) ? parts.length : 0,
    order_key: orderKeyOf([language, jurisdiction, subjects[0] ?? '']),
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
