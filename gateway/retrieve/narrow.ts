import type { ServingProfile } from '#core/db/access.ts'
import { SEARCH_BOUNDS } from '#core/domain/bounds.ts'
import { orders } from '#core/domain/retrieval-profile.ts'
import { foldCode, foldKey } from '#core/identity/fold.ts'
import { ServiceError, type ErrorDetail } from '#core/platform/errors.ts'
import { GATEWAY_BOUNDS } from '#gateway/bounds.ts'
import type { ActiveEntitlement } from './entitle.ts'
import type { RetrievalRequest } from './schema.ts'

/** Metadata values that passages may have. */
export interface Values {
  readonly languages: readonly string[]
  readonly jurisdictions: readonly string[]
  /** Undefined allows every subject, and passages without one. */
  readonly subjects: readonly string[] | undefined
}

/** The scope of the request, always within the entitlement. */
export type Narrowed = ReturnType<typeof narrow>

/**
 * Applies the request's own filters to the entitlement. A value outside it is refused whether or not the knowledge base
 * holds it.
 * @throws ServiceError FILTER_FORBIDDEN, also where a chat model orders the profile and the entitlement allows none.
 */
export function narrow(entitlement: ActiveEntitlement, request: RetrievalRequest) {
  const { filters } = request
  const profile = chooseProfile(entitlement, request.profile)
  const { reader } = profile.parameters
  // Nothing of such a profile can be served without its chat model.
  if (!entitlement.assistance && reader?.kind === 'chat' && orders(reader)) throw forbidden([NEEDS_ASSISTANCE])
  const faults: ErrorDetail[] = []
  const languages = allowedValues(entitlement.languages, createLanguages)
  const jurisdictions = allowedValues(entitlement.jurisdictions, createJurisdictions)
  const subjects = allowedValues(entitlement.subjects ?? profile.facets.subjects, createSubjects)
  const everySubject = entitlement.subjects === null
  const narrowed = {
    profile,
    /** Before the request's own filters. */
    entitled: {
      languages: languages.values,
      jurisdictions: jurisdictions.values,
      subjects: everySubject ? undefined : subjects.values,
    },
    languages: restrictTo(languages, 'language', filters, faults),
    jurisdictions: restrictTo(jurisdictions, 'jurisdiction', filters, faults),
    subjects:
      everySubject && filters?.subject === undefined ? undefined : restrictTo(subjects, 'subject', filters, faults),
  }
  if (faults.length > 0) throw forbidden(faults)
  return narrowed
}

const NEEDS_ASSISTANCE: ErrorDetail = {
  path: '/profile',
  message: 'is ordered by a chat model, which the entitlement does not allow to see questions',
  reason: 'not_entitled',
}

function forbidden(details: readonly ErrorDetail[]): ServiceError {
  return new ServiceError('FILTER_FORBIDDEN', { details: details.slice(0, GATEWAY_BOUNDS.errorDetailsMax) })
}

function chooseProfile(entitlement: ActiveEntitlement, asked: string | undefined): ServingProfile {
  const { active_profile: active, profiles } = entitlement
  if (asked === undefined || asked === 'active') return active
  const profile = [active, ...profiles].find((candidate) => candidate.id === foldKey(asked))
  if (profile !== undefined) return profile
  throw forbidden([allowedDetail('/profile', ['active', ...new Set([active, ...profiles].map(({ id }) => id))])])
}

/** Names what the entitlement holds, and nothing else of the knowledge base. */
function allowedDetail(path: string, values: readonly string[]): ErrorDetail {
  const more = values.length - GATEWAY_BOUNDS.errorValuesMax
  const listed = values.slice(0, GATEWAY_BOUNDS.errorValuesMax).join(', ')
  return {
    path,
    message: `is outside the entitlement, which holds: ${listed}${more > 0 ? ` and ${more} more` : ''}`,
    reason: 'not_entitled',
  }
}

/** Values that a list may be narrowed to. */
interface Allowed {
  /** Canonical. */
  readonly values: readonly string[]
  /** @returns the canonical form of a value that is allowed, in whatever spelling it is asked for. */
  find(value: string): string | undefined
}

/** By the list that the access cache holds, so that its values are canonicalised once and not for every request. */
const allowedBy = new WeakMap<readonly string[], Allowed>()

function allowedValues(list: readonly string[], create: (list: readonly string[]) => Allowed): Allowed {
  const allowed = allowedBy.get(list) ?? create(list)
  allowedBy.set(list, allowed)
  return allowed
}

/** Adds the first value outside to `faults`; what follows it is not canonicalised. */
function restrictTo(
  { values, find }: Allowed,
  name: keyof NonNullable<RetrievalRequest['filters']>,
  filters: RetrievalRequest['filters'],
  faults: ErrorDetail[],
): readonly string[] {
  const asked = filters?.[name]
  if (asked === undefined) return values
  const path = `/filters/${name}`
  const found = new Set<string>()
  for (const [index, value] of asked.entries()) {
    const entitled = find(value)
    if (entitled === undefined) {
      faults.push(allowedDetail(`${path}/${index}`, values))
      break
    }
    found.add(entitled)
  }
  return [...found].sort()
}

/** No value of an entitlement is longer, or holds a control character. A character has at most two UTF-16 units. */
function isNoValue(value: string): boolean {
  return value.length > 2 * SEARCH_BOUNDS.filterValueCharactersMax || /\p{Cc}/u.test(value)
}

const LANGUAGE_TAG = /^[a-z\d]{1,8}(-[a-z\d]{1,8})*$/i

/** Tags differ in case alone, or are aliases. Only an alias is canonicalised, because that is the dearest part. */
function createLanguages(list: readonly string[]): Allowed {
  const values = list.map(canonicalLanguage)
  const set = new Set(values)
  const byKey = new Map(values.map((value) => [foldKey(value), value]))
  return {
    values,
    find: (value) => {
      if (set.has(value)) return value
      if (isNoValue(value) || !LANGUAGE_TAG.test(value)) return undefined
      return byKey.get(foldKey(value)) ?? byKey.get(foldKey(canonicalLanguage(value)))
    },
  }
}

/** BCP 47 canonical form; other text is returned unchanged. */
function canonicalLanguage(code: string): string {
  try {
    return Intl.getCanonicalLocales(code)[0] ?? code
  } catch {
    return code
  }
}

/** Jurisdictions are served in capitals, and passages hold subjects as keys. */
function createFolded(fold: (value: string) => string) {
  return (list: readonly string[]): Allowed => {
    const values = list.map(fold)
    const set = new Set(values)
    const find = (value: string): string | undefined => {
      const folded = isNoValue(value) ? undefined : fold(value)
      return folded !== undefined && set.has(folded) ? folded : undefined
    }
    return { values, find }
  }
}
const [createJurisdictions, createSubjects] = [createFolded(foldCode), createFolded(foldKey)]
