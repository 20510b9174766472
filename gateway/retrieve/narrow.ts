import type { ServingProfile } from '#core/db/access.ts'
import { BOUNDS } from '#core/platform/bounds.ts'
import { ServiceError } from '#core/platform/errors.ts'
import type { ActiveEntitlement } from './entitle.ts'
import type { RetrievalRequest } from './schema.ts'

/** Metadata values that passages may have. */
export interface Values {
  readonly languages: readonly string[]
  readonly jurisdictions: readonly string[]
  /** undefined: every subject, and passages without one. */
  readonly subjects: readonly string[] | undefined
}

/** The scope of the request, always within the entitlement. */
export interface Narrowed extends Values {
  readonly profile: ServingProfile
  /** Before the request's own filters. */
  readonly entitled: Values
}

/**
 * Applies the request's own filters to the entitlement. A value outside it is refused whether or not the knowledge base
 * holds it.
 * @throws ServiceError FILTER_FORBIDDEN.
 */
export function narrow(entitlement: ActiveEntitlement, request: RetrievalRequest): Narrowed {
  const { filters } = request
  const profile = chooseProfile(entitlement, request.profile)
  const languages = allowedValues(entitlement.languages, canonicalLanguage)
  const jurisdictions = allowedValues(entitlement.jurisdictions, canonicalJurisdiction)
  const subjects = allowedValues(entitlement.subjects ?? profile.facets.subjects, asWritten)
  const everySubject = entitlement.subjects === null
  return {
    profile,
    entitled: {
      languages: languages.values,
      jurisdictions: jurisdictions.values,
      subjects: everySubject ? undefined : subjects.values,
    },
    languages: within(languages, filters?.language),
    jurisdictions: within(jurisdictions, filters?.jurisdiction),
    subjects: everySubject && filters?.subject === undefined ? undefined : within(subjects, filters?.subject),
  }
}

function chooseProfile(entitlement: ActiveEntitlement, asked: string | undefined): ServingProfile {
  if (asked === undefined || asked === 'active') return entitlement.active_profile
  const profile = entitlement.profiles.find((candidate) => candidate.id === asked.toLowerCase())
  if (profile === undefined) throw new ServiceError('FILTER_FORBIDDEN')
  return profile
}

/** Values that a list may be narrowed to, in canonical form. */
interface Allowed {
  readonly values: readonly string[]
  readonly set: ReadonlySet<string>
  readonly canonical: (value: string) => string
}

/** By the list that the access cache holds, so that its values are canonicalised once and not for every request. */
const allowedBy = new WeakMap<readonly string[], Allowed>()

function allowedValues(list: readonly string[], canonical: Allowed['canonical']): Allowed {
  const known = allowedBy.get(list)
  if (known !== undefined) return known
  const values = list.map(canonical)
  const allowed = { values, set: new Set(values), canonical }
  allowedBy.set(list, allowed)
  return allowed
}

/** Refuses at the first value outside, because canonicalisation is the dearest part of a request. */
function within({ values, set, canonical }: Allowed, asked: readonly string[] | undefined): readonly string[] {
  if (asked === undefined) return values
  const found = asked.map((value) => {
    const entitled = set.has(value) ? value : canonical(value)
    if (!set.has(entitled)) throw new ServiceError('FILTER_FORBIDDEN')
    return entitled
  })
  return [...new Set(found)].sort()
}

const LANGUAGE_TAG = /^[a-z\d]{1,8}(-[a-z\d]{1,8})*$/i

/** No value of an entitlement is longer. A character has at most two UTF-16 units. */
function isTooLong(value: string): boolean {
  return value.length > 2 * BOUNDS.filterValueCharactersMax
}

/** BCP 47 canonical form. Other text is returned unchanged and is therefore outside every entitlement. */
function canonicalLanguage(code: string): string {
  if (isTooLong(code) || !LANGUAGE_TAG.test(code)) return code
  try {
    return Intl.getCanonicalLocales(code)[0] ?? code
  } catch {
    return code
  }
}

function canonicalJurisdiction(code: string): string {
  return isTooLong(code) ? code : code.toUpperCase()
}

function asWritten(subject: string): string {
  return subject
}
