import type { Entitlement, ServingProfile } from '#core/db/access.ts'
import { ServiceError } from '#core/platform/errors.ts'
import { usable, type AccessDeps } from './authenticate.ts'
import type { RequestContext } from './request-context.ts'
import { hasAtMostCharacters, invalid, type RetrievalRequest } from './schema.ts'

/** An entitlement that is active and has something to serve. */
export type ActiveEntitlement = Entitlement & { readonly active_profile: ServingProfile }

/**
 * Returns the caller's access, and its entitlement to the knowledge base. The access is read again: what `authenticate` read may have
 * been cached for 4 s, and a slow body takes up to 5 s more. An unknown slug, another client's slug and an inactive
 * entitlement give the same error.
 * @throws ServiceError as `authenticate`; ENTITLEMENT_INACTIVE; INVALID_REQUEST when the plan allows a shorter query.
 */
export async function entitle(deps: AccessDeps, context: RequestContext, request: RetrievalRequest) {
  const access = usable(deps.environment, await context.timings.wait('postgres', deps.access.read(context.digests)))
  const entitlement = access.entitlements.find((candidate) => candidate.knowledge_base === request.knowledge_base)
  if (entitlement === undefined || !entitlement.active || entitlement.active_profile === null)
    throw new ServiceError('ENTITLEMENT_INACTIVE')
  const { max_query_characters: charactersMax } = entitlement.limits
  if (!hasAtMostCharacters(charactersMax, request.query))
    throw invalid('/query', `must hold at most ${charactersMax} characters`)
  return { access, entitlement: { ...entitlement, active_profile: entitlement.active_profile } }
}
