import type { ServingProfile } from '#core/db/access.ts'
import { SEARCH_BOUNDS } from '#core/domain/bounds.ts'
import { foldCode, foldKey } from '#core/identity/fold.ts'
import { ServiceError } from '#core/platform/errors.ts'
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
  const languages = allowedValues(entitlement.languages, createLanguages)
  const jurisdictions = allowedValues(entitlement.jurisdictions, createJurisdictions)
  const subjects = allowedValues(entitlement.subjects ?? profile.facets.subjects, createSubjects)
  const everySubject = entitlement.subjects === null
  return {
    profile,
    entitled: {
      languages: languages.values,
      jurisdictions: jurisdictions.values,
      subjects: everySubject ? undefined : subjects.values,
    },
    languages: restrictTo(languages, filters?.language),
    jurisdictions: restrictTo(jurisdictions, filters?.jurisdiction),
    subjects: everySubject && filters?.subject === undefined ? undefined : restrictTo(subjects, filters?.subject),
  }
}

function chooseProfile(entitlement: ActiveEntitlement, asked: string | undefined): ServingProfile {
  if (asked === undefined || asked === 'active') return entitlement.active_profile
  const profile = entitlement.profiles.find((candidate) => candidate.id === foldKey(asked))
  if (profile === undefined) throw new ServiceError('FILTER_FORBIDDEN')
  return profile
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

/** Refuses at the first value outside. */
function restrictTo({ values, find }: Allowed, asked: readonly string[] | undefined): readonly string[] {
  if (asked === undefined) return values
  const found = asked.map((value) => {
    const entitled = find(value)
    if (entitled === undefined) throw new ServiceError('FILTER_FORBIDDEN')
    return entitled
  })
  return [...new Set(found)].sort()
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

/** Jurisdictions are served in capitals. */
function createJurisdictions(list: readonly string[]): Allowed {
  const values = list.map(foldCode)
  const set = new Set(values)
  return {
    values,
    find: (value) => {
      if (isNoValue(value)) return undefined
      const code = foldCode(value)
      return set.has(code) ? code : undefined
    },
  }
}

/** A key has no control characters, which its folding reads as spaces. */

/** Passages hold subjects as keys. */
function createSubjects(list: readonly string[]): Allowed {
  const values = list.map(foldKey)
  const set = new Set<string>(values)
  return {
    values,
    find: (value) => {
      if (isNoValue(value)) return undefined
      const key = foldKey(value)
      return set.has(key) ? key : undefined
    },
  }
}
