import { VERIFICATION_STATUSES } from '#core/index/passages/record.ts'
import type { VerificationStatus } from '#core/index/passages/record.ts'
import { SEARCH_BOUNDS } from '#core/domain/bounds.ts'
import { foldCode, foldKey } from '#core/identity/fold.ts'
import type { FoldedKey } from '#core/identity/fold.ts'
import { z } from 'zod'
import { IMPORT_BOUNDS } from '../bounds.ts'
import { withoutFragment } from '../parts/anchor.ts'
import { dateFault, dayOf, instantOf } from '../mapping/dates.ts'
import { REQUIRED_FIELDS } from '../mapping/mapping.ts'
import type { FieldName } from '../mapping/mapping.ts'
import { actIdOf, aliasesOf } from './references.ts'
import type { ResolvedRecord } from './resolve.ts'
import { isLongerThan, unstorable } from '#law/readers/text.ts'

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
  /** Canonical id. */
  readonly act: string | undefined
  readonly aliases: readonly string[]
  /** Reference as the publisher or the mapping writes it. */
  readonly reference: string | undefined
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

/** Why fields make no passage. `contradiction`: the mapping decides whether it refuses the import. */
export interface UnusableFields {
  readonly reason: string
  /** The field whose value is not understood. */
  readonly field?: FieldName
  readonly contradiction?: 'dates'
}

/** A source that says `verified` only declares it; the import makes the other half of it (`recorder.ts`). */
const statusSchema = z
  .enum(VERIFICATION_STATUSES)
  .transform((stated) => (stated === 'verified' ? 'source-declared' : stated))

/**
 * Returns the parsed fields, or the reason why the record cannot become a passage. A required field is never invented.
 */
export function fieldsOf(resolved: ResolvedRecord): RecordFields | UnusableFields {
  const missing = REQUIRED_FIELDS.filter((name) => !resolved.fields.has(name))
  if (missing.length > 0) return { reason: `${missing.join(', ')} missing` }
  const value = (name: FieldName): string => resolved.fields.get(name)?.value.trim() ?? ''
  const tooLong = lengthFault(value)
  if (tooLong !== undefined) return { reason: tooLong }

  const { base, fragment } = withoutFragment(value('canonical_url'))
  if (!isHttpUrl(base)) return { reason: 'canonical_url is not an http(s) URL' }
  const dates = datesOf(resolved, value)
  if ('reason' in dates) return dates
  const language = canonicalLanguage(value('language'))
  if (language === undefined) return { reason: 'language is not a BCP 47 tag', field: 'language' }
  const status = statusSchema.safeParse(value('verification_status'))
  if (!status.success)
    return {
      reason: `verification_status is not one of ${VERIFICATION_STATUSES.join(', ')}`,
      field: 'verification_status',
    }

  const act = value('act') === '' ? undefined : actIdOf(value('act'))
  if (value('act') !== '' && act === undefined)
    return { reason: 'act is not an act id (scheme:name, as in celex:32016R0679)' }
  if (act === undefined && value('aliases') !== '') return { reason: 'aliases without an act' }

  const documentKey = foldKey(value('document_key'))
  if (documentKey === '') return { reason: 'document_key missing' }
  return {
    documentKey,
    title: value('title'),
    authority: value('authority'),
    canonicalUrl: base,
    publisherFragment: value('citation_fragment') || fragment,
    ...dates,
    label: value('citation_label'),
    act,
    aliases: aliasesOf(value('aliases')),
    reference: value('reference') || undefined,
    provision: foldKey(value('provision') || value('citation_label')),
    language,
    jurisdiction: foldCode(value('jurisdiction')),
    subjects: subjectsOf(value('subjects')),
    status: status.data,
    heading: value('heading') || undefined,
    lineage: lineageOf(resolved),
  }
}

type Dates = Pick<RecordFields, 'publishedAt' | 'effectiveAt' | 'effectiveTo'>

function datesOf({ endNotUnderstood }: ResolvedRecord, value: (name: FieldName) => string): Dates | UnusableFields {
  if (endNotUnderstood)
    return { reason: 'effective_to is stated in a form that the mapping does not understand', field: 'effective_to' }
  const publishedAt = instantOf(value('published_at'))
  if (publishedAt === undefined) return noDate('published_at', value)
  const effectiveAt = instantOf(value('effective_at'))
  if (effectiveAt === undefined) return noDate('effective_at', value)
  const effectiveTo = value('effective_to') === '' ? undefined : instantOf(value('effective_to'))
  if (value('effective_to') !== '' && effectiveTo === undefined) return noDate('effective_to', value)
  if (effectiveTo !== undefined && dayOf(effectiveTo) <= dayOf(effectiveAt))
    return { reason: REVERSED_DATES, contradiction: 'dates' }
  return { publishedAt, effectiveAt, effectiveTo }
}

function noDate(field: FieldName, value: (name: FieldName) => string): UnusableFields {
  return { reason: `${field} ${dateFault(value(field))}`, field }
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

function isHttpUrl(url: string): boolean {
  return /^https?:\/\/[^\s/]/.test(url) && !/[\s\p{Cc}<>"\\^`{|}]/u.test(url) && URL.canParse(url)
}

/** Returns the canonical form (RFC 5646, section 4.5): `EN-gb` becomes `en-GB`. */
function canonicalLanguage(tag: string): string | undefined {
  try {
    return Intl.getCanonicalLocales(tag)[0]
  } catch {
    return undefined
  }
}

function subjectsOf(written: string): readonly FoldedKey[] {
  return [...new Set(written.split(',').map(foldKey))].filter((subject) => subject !== '').sort()
}

function lineageOf(resolved: ResolvedRecord): Readonly<Record<string, string>> {
  const derived = [...resolved.fields].flatMap(([name, field]) =>
    field.derived === undefined ? [] : [[name, field.derived] as const],
  )
  return Object.fromEntries(derived)
}
