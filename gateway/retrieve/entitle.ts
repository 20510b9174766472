import type { Access, Entitlement, ServingProfile } from '#core/db/access.ts'
import { ServiceError } from '#core/platform/errors.ts'
import { currentAccess } from './access.ts'
import type { AccessDeps, KeyDigests } from './access.ts'
import type { RequestContext } from './request-context.ts'
import type { RetrievalRequest } from './schema.ts'
import { hasAtMostCharacters } from './schema.ts'

/** An entitlement that is active and has something to serve. */
export type ActiveEntitlement = Entitlement & { readonly active_profile: ServingProfile }

/** The key's access and its entitlement to the requested knowledge base, from one read. */
export interface Entitled {
  readonly access: Access
  readonly entitlement: ActiveEntitlement
}

/**
 * Returns the caller's entitlement to the knowledge base. The access is read again, because it may have been revoked
 * while a slow body arrived. An unknown slug, another client's slug and an inactive entitlement give the same error.
 * @throws ServiceError as `currentAccess`; ENTITLEMENT_INACTIVE; INVALID_REQUEST when the plan allows a shorter query.
 */
export async function entitle(
  deps: AccessDeps,
  context: RequestContext,
  digests: KeyDigests,
  request: RetrievalRequest,
): Promise<Entitled> {
  const access = await currentAccess(deps, context, digests)
  const entitlement = access.entitlements.find((candidate) => candidate.knowledge_base === request.knowledge_base)
  if (entitlement === undefined || !entitlement.active || entitlement.active_profile === null)
    throw new ServiceError('ENTITLEMENT_INACTIVE')
  const { max_query_characters: charactersMax } = entitlement.limits
  if (!hasAtMostCharacters(charactersMax, request.query))
    throw new ServiceError('INVALID_REQUEST', {
      details: [{ path: '/query', message: `must hold at most ${charactersMax} characters` }],
    })
  return { access, entitlement: { ...entitlement, active_profile: entitlement.active_profile } }
}
