import type { ActEntry } from '#core/index/references/layout.ts'
import { VERIFICATION_STATUSES, type VerificationStatus } from '#core/index/passages/record.ts'
import { SEARCH_BOUNDS } from '#core/domain/bounds.ts'
import { foldCode, foldKey, type FoldedKey } from '#core/identity/fold.ts'
import { hasMixedWord } from '#core/identity/look-alikes.ts'
import { memoized } from '#core/platform/memoized.ts'
import { z } from 'zod'
import { IMPORT_BOUNDS } from '#law/import/bounds.ts'
import { slugOf } from '#law/readers/heading-anchors.ts'
import { hiddenIn, isBlank, isLongerThan, unstorable } from '#law/readers/text.ts'
import { dateFault, dayOf, instantOf } from '../mapping/dates.ts'
import { REQUIRED_FIELDS, type FieldName, type Mapping } from '../mapping/mapping.ts'
import {
  looksLikeEnd,
  metadataFieldOf,
  readFieldsOf,
  shownName,
  sourcesOf,
  unreadFields,
} from '../mapping/read-fields.ts'
import { compileMapping, type MappedValues } from '../mapping/rules.ts'
import { withoutFragment } from '../parts/anchor.ts'
import type { SourceRecord } from '../record/record.ts'
import type { SkipKind } from '../report/report.ts'
import { actIdOf, aliasesOf, createReferenceReader } from './references.ts'

/** The fields of a record, parsed and in canonical form. */
export interface RecordFields {
  /** Names the document in every source. */
  readonly documentKey: FoldedKey
  readonly title: string
  readonly authority: string
  /** Without a fragment. */
  readonly canonicalUrl: string
  readonly publisherFragment: string | undefined
  /** ISO 8601 UTC with milliseconds. */
  readonly publishedAt: string
  readonly effectiveAt: string
  readonly effectiveTo: string | undefined
  readonly label: string
  readonly act: ActEntry | undefined
  /** Reference as the publisher or the mapping writes it. */
  readonly reference: string | undefined
  /** Canonical forms of the provisions whose text the record holds. */
  readonly references: readonly string[]
  /** Name of the provision, equal in every revision. */
  readonly provision: FoldedKey
  /** BCP 47, canonical. */
  readonly language: string
  /** Upper case. */
  readonly jurisdiction: string
  readonly subjects: readonly FoldedKey[]
  readonly status: VerificationStatus
  readonly heading: string | undefined
  /** Derived fields and the documented rule of each. */
  readonly lineage: Readonly<Record<string, string>>
}

/** The reason of a record whose dates contradict each other. */
export const REVERSED_DATES = 'effective_to is not after effective_at'

/** Why a record makes no passage. */
export interface Unusable {
  /** Never repeats the content of the record. */
  readonly reason: string
  readonly skip: SkipKind
  /** Where the source states what is not understood, if that is not the record's line. */
  readonly line?: number | undefined
  /** It refuses the import. */
  readonly contradiction?: 'dates' | 'anchor' | 'unread'
}

function lost(reason: string): Unusable {
  return { reason, skip: 'lost' }
}

/** A source that says `verified` only declares it; the import makes the other half of it (`stager.ts`). */
const statusSchema = z
  .enum(VERIFICATION_STATUSES)
  .transform((stated) => (stated === 'verified' ? 'source-declared' : stated))

/** The reason of a heading that another revision may number differently. */
const NUMBERED_ANCHOR =
  'its anchor is numbered, because an earlier heading of the file has the same words, and "revises" is "provision"'

/**
 * Returns a function that reads the fields of a record by the rules of a mapping, or says why the record cannot become a
 * passage. A required field is never invented.
 */
export function createFieldReader(mapping: Mapping): (record: SourceRecord) => RecordFields | Unusable {
  const valuesOf = compileMapping(mapping)
  const known = readFieldsOf(mapping)
  const referencesOf = createReferenceReader()
  return (record) => {
    const unread = fieldFault(record, mapping, known)
    if (unread !== undefined) return unread
    const { id, title, text } = record
    const values = valuesOf((name) =>
      name === 'id' ? id : name === 'title' ? title : name === 'text' ? text : record.values.get(name),
    )
    if (values.skip !== undefined) return { reason: values.skip, skip: 'intended' }
    if (isBlank(text)) return lost('text is blank')
    if (title !== '' && text.trim() === title) return lost('text only repeats its title')
    const fields = fieldsOf(values, mapping, referencesOf)
    const hidden = 'reason' in fields ? undefined : hiddenIn(text, fields.language)
    if (hidden !== undefined) return lost(`text ${hidden}`)
    if ('reason' in fields) return { ...fields, line: lineOfField(fields.field, record, mapping) }
    return mapping.revises === 'provision' && hasNumberedAnchor(record, fields)
      ? { reason: NUMBERED_ANCHOR, skip: 'lost', contradiction: 'anchor' }
      : fields
  }
}

/** Returns the fault of a record whose fields the mapping does not understand, or undefined. */
function fieldFault(
  { stated }: SourceRecord,
  { ignored_fields: ignored }: Mapping,
  known: ReadonlySet<string>,
): Unusable | undefined {
  for (const [name, { text }] of stated)
    if (known.has(name) && text === undefined && !ignored.includes(name))
      return lost(`${name} is neither a plain value nor a list of them`)
  for (const [name, text] of unreadFields(stated, known)) {
    if (!looksLikeEnd(name, text)) continue
    const reason = `${shownName(name)} may state an end or a status, and the mapping does not read it`
    return { reason, skip: 'lost', contradiction: 'unread' }
  }
  return undefined
}

/** Returns the line of the front matter that states a field, where it does. */
function lineOfField(field: FieldName | undefined, { stated }: SourceRecord, mapping: Mapping): number | undefined {
  const rule = field === undefined ? undefined : mapping.fields[field]
  const sources = rule === undefined ? [] : sourcesOf(rule, mapping).flatMap(metadataFieldOf)
  return sources.map((name) => stated.get(name)?.line).find((line) => line !== undefined)
}

/** Whether a provision is named by a generated anchor with a number, which depends on the headings before it. */
function hasNumberedAnchor({ id, title, values, captured: { format } }: SourceRecord, fields: RecordFields): boolean {
  if (format !== 'markdown' || values.has('section.fragment') || !fields.provision.includes(foldKey(id))) return false
  const generated = slugOf(title)
  return generated === '' ? /-\d+$/.test(id) : id !== generated
}

/** Of a field whose value is not understood, the name too. */
type FieldFault = Unusable & { readonly field?: FieldName }

function fieldsOf(
  { fields, endNotUnderstood }: MappedValues,
  mapping: Mapping,
  referencesOf: ReturnType<typeof createReferenceReader>,
): RecordFields | FieldFault {
  const missing = REQUIRED_FIELDS.filter((name) => !fields.has(name))
  if (missing.length > 0) return lost(`${missing.join(', ')} missing`)
  const value = (name: FieldName): string => fields.get(name)?.value.trim() ?? ''
  const tooLong = lengthFault(value)
  if (tooLong !== undefined) return lost(tooLong)

  const { base, fragment } = withoutFragment(value('canonical_url'))
  if (!isHttpUrl(base)) return lost('canonical_url is not an http(s) URL')
  if (endNotUnderstood)
    return { ...lost('effective_to is stated in a form that the mapping does not understand'), field: 'effective_to' }
  const dates = datesOf(value, mapping)
  if ('reason' in dates) return dates
  const language = canonicalLanguage(value('language'))
  if (language === undefined) return { ...lost('language is not a BCP 47 tag'), field: 'language' }
  const hidden = nameFault(value, language)
  if (hidden !== undefined) return lost(hidden)
  const status = statusSchema.safeParse(value('verification_status'))
  if (!status.success)
    return {
      ...lost(`verification_status is not one of ${VERIFICATION_STATUSES.join(', ')}`),
      field: 'verification_status',
    }

  const actId = value('act') === '' ? undefined : actIdOf(value('act'))
  const aliases = aliasesOf(value('aliases'))
  if (value('act') !== '' && actId === undefined)
    return lost('act is not an act id (scheme:name, as in celex:32016R0679)')
  if (actId === undefined && value('aliases') !== '') return lost('aliases without an act')

  const documentKey = keyOf(value('document_key'))
  if (documentKey === '') return lost('document_key missing')
  const act = actId === undefined ? undefined : { id: actId, aliases }
  const named = mapping.fields.reference === undefined ? 'citation_label' : 'reference'
  return {
    documentKey,
    title: value('title'),
    authority: value('authority'),
    canonicalUrl: base,
    publisherFragment: value('citation_fragment') || fragment,
    ...dates,
    label: value('citation_label'),
    act,
    reference: value('reference') || undefined,
    references: referencesOf(act, value(named), language),
    provision: keyOf(value('provision') || value('citation_label')),
    language,
    jurisdiction: codeOf(value('jurisdiction')),
    subjects: subjectsOf(value('subjects')),
    status: status.data,
    heading: value('heading') || undefined,
    lineage: lineageOf(fields),
  }
}

type Dates = Pick<RecordFields, 'publishedAt' | 'effectiveAt' | 'effectiveTo'>

function datesOf(value: (name: FieldName) => string, { reversed_dates: reversed }: Mapping): Dates | FieldFault {
  const publishedAt = instantOf(value('published_at'))
  if (publishedAt === undefined) return noDate('published_at', value)
  const effectiveAt = instantOf(value('effective_at'))
  if (effectiveAt === undefined) return noDate('effective_at', value)
  const effectiveTo = value('effective_to') === '' ? undefined : instantOf(value('effective_to'))
  if (value('effective_to') !== '' && effectiveTo === undefined) return noDate('effective_to', value)
  if (effectiveTo !== undefined && dayOf(effectiveTo) <= dayOf(effectiveAt))
    return { ...lost(REVERSED_DATES), ...(reversed === 'refuse' ? { contradiction: 'dates' } : {}) }
  return { publishedAt, effectiveAt, effectiveTo }
}

function noDate(field: FieldName, value: (name: FieldName) => string): FieldFault {
  return { ...lost(`${field} ${dateFault(value(field))}`), field }
}

const FIELD_CHARACTERS_MAX: readonly (readonly [FieldName, number])[] = [
  ['document_key', IMPORT_BOUNDS.sourceIdCharactersMax],
  ['title', IMPORT_BOUNDS.titleCharactersMax],
  ['authority', IMPORT_BOUNDS.titleCharactersMax],
  ['canonical_url', IMPORT_BOUNDS.urlCharactersMax],
  ['citation_fragment', IMPORT_BOUNDS.urlCharactersMax],
  ['citation_label', IMPORT_BOUNDS.labelCharactersMax],
  ['reference', IMPORT_BOUNDS.labelCharactersMax],
  ['provision', IMPORT_BOUNDS.sourceIdCharactersMax],
  ['language', SEARCH_BOUNDS.filterValueCharactersMax],
  ['jurisdiction', SEARCH_BOUNDS.filterValueCharactersMax],
  ['heading', IMPORT_BOUNDS.headingCharactersMax],
]

/** Names that look like others than they are: a character that does not show, a word of two scripts. */
function nameFault(value: (name: FieldName) => string, language: string): string | undefined {
  for (const name of ['citation_label', 'title', 'aliases', 'reference', 'heading', 'act'] as const) {
    const hidden = hiddenIn(value(name), language)
    if (hidden !== undefined) return `${name} ${hidden}`
    if (hasMixedWord(value(name))) return `${name} has a word with letters of two scripts`
  }
  return undefined
}

function lengthFault(value: (name: FieldName) => string): string | undefined {
  for (const [name, charactersMax] of FIELD_CHARACTERS_MAX) {
    if (isLongerThan(value(name), charactersMax)) return `${name} longer than ${charactersMax} characters`
    if (unstorable(value(name)) !== undefined) return `${name} ${unstorable(value(name))}`
  }
  const aliases = aliasesOf(value('aliases'))
  if (aliases.length > IMPORT_BOUNDS.aliasesPerActMax) return `more than ${IMPORT_BOUNDS.aliasesPerActMax} aliases`
  if (aliases.some((alias) => isLongerThan(alias, IMPORT_BOUNDS.aliasCharactersMax)))
    return `aliases longer than ${IMPORT_BOUNDS.aliasCharactersMax} characters`
  if (unstorable(value('aliases')) !== undefined) return `aliases ${unstorable(value('aliases'))}`
  const subject = subjectsOf(value('subjects')).find((each) =>
    isLongerThan(each, SEARCH_BOUNDS.filterValueCharactersMax),
  )
  return subject === undefined ? undefined : `subjects longer than ${SEARCH_BOUNDS.filterValueCharactersMax} characters`
}

/** `foldKey` of what sources repeat. */
export const keyOf = memoized(foldKey, IMPORT_BOUNDS.rememberedTextsMax)
const codeOf = memoized(foldCode, IMPORT_BOUNDS.rememberedTextsMax)

const isHttpUrl = memoized(
  (url) => /^https?:\/\/[^\s/]/.test(url) && !/[\s\p{Cc}<>"\\^`{|}]/u.test(url) && URL.canParse(url),
  IMPORT_BOUNDS.rememberedTextsMax,
)

/** Returns the canonical form (RFC 5646, section 4.5): `EN-gb` becomes `en-GB`. */
const canonicalLanguage = memoized((tag): string | undefined => {
  try {
    return Intl.getCanonicalLocales(tag)[0]
  } catch {
    return undefined
  }
}, IMPORT_BOUNDS.rememberedTextsMax)

function subjectsOf(written: string): readonly FoldedKey[] {
  return [...new Set(written.split(',').map(keyOf))].filter((subject) => subject !== '').sort()
}

function lineageOf(fields: MappedValues['fields']): Readonly<Record<string, string>> {
  return Object.fromEntries(
    [...fields].flatMap(([name, { derived }]) => (derived === undefined ? [] : [[name, derived] as const])),
  )
}
