import type { ServingProfile } from '#core/db/access.ts'
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
  const entitled = {
    languages: entitlement.languages.map(canonicalLanguage),
    jurisdictions: entitlement.jurisdictions.map(canonicalJurisdiction),
    subjects: entitlement.subjects ?? undefined,
  }
  return {
    profile,
    entitled,
    languages: within(entitled.languages, filters?.language?.map(canonicalLanguage)),
    jurisdictions: within(entitled.jurisdictions, filters?.jurisdiction?.map(canonicalJurisdiction)),
    subjects:
      filters?.subject === undefined
        ? (entitlement.subjects ?? undefined)
        : within(entitlement.subjects ?? profile.facets.subjects, filters.subject),
  }
}

function chooseProfile(entitlement: ActiveEntitlement, asked: string | undefined): ServingProfile {
  if (asked === undefined || asked === 'active') return entitlement.active_profile
  const profile = entitlement.profiles.find((candidate) => candidate.id === asked.toLowerCase())
  if (profile === undefined) throw new ServiceError('FILTER_FORBIDDEN')
  return profile
}

function within(allowed: readonly string[], asked: readonly string[] | undefined): readonly string[] {
  if (asked === undefined) return allowed
  if (!asked.every((value) => allowed.includes(value))) throw new ServiceError('FILTER_FORBIDDEN')
  return [...new Set(asked)].sort()
}

/** BCP 47 canonical form. Other text is returned unchanged and is therefore outside every entitlement. */
function canonicalLanguage(code: string): string {
  try {
    return Intl.getCanonicalLocales(code)[0] ?? code
  } catch {
    return code
  }
}

function canonicalJurisdiction(code: string): string {
  return code.toUpperCase()
}
