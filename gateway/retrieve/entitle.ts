import type { Access, Entitlement, ServingProfile } from '#core/db/access.ts'
import { ServiceError } from '#core/platform/errors.ts'
import type { RetrievalRequest } from './schema.ts'
import { countCharacters } from './schema.ts'

/** An entitlement that is active and has something to serve. */
export type ActiveEntitlement = Entitlement & { readonly active_profile: ServingProfile }

/**
 * The caller's entitlement to the knowledge base. An unknown slug, one of somebody else's and an inactive one answer
 * identically.
 * @throws ServiceError ENTITLEMENT_INACTIVE; INVALID_REQUEST when the plan allows a shorter query.
 */
export function entitle(access: Access, request: RetrievalRequest): ActiveEntitlement {
  const entitlement = access.entitlements.find((candidate) => candidate.knowledge_base === request.knowledge_base)
  if (entitlement === undefined || !entitlement.active || entitlement.active_profile === null)
    throw new ServiceError('ENTITLEMENT_INACTIVE')
  const { max_query_characters: charactersMax } = entitlement.limits
  if (countCharacters(request.query) > charactersMax)
    throw new ServiceError('INVALID_REQUEST', {
      details: [{ path: 'query', message: `must hold at most ${charactersMax} characters` }],
    })
  return { ...entitlement, active_profile: entitlement.active_profile }
}
