import type { Access } from '#core/db/access.ts'
import { RETRIEVAL_SCOPE } from '#core/credentials/api-key.ts'
import type { KeyEnvironment } from '#core/credentials/api-key.ts'
import { ServiceError } from '#core/platform/errors.ts'
import type { AccessCache } from '#gateway/access-cache.ts'
import type { RequestContext } from './request-context.ts'

export interface AccessDeps {
  readonly access: AccessCache
  readonly environment: KeyEnvironment
}

/** The digests of one presented key, under each pepper in use; only `authenticate` creates them. */
export type KeyDigests = readonly Buffer[]

/**
 * Returns the key's current access, usually from the cache.
 * @throws ServiceError INVALID_API_KEY when the key is unknown, revoked, expired or of another environment;
 * SCOPE_FORBIDDEN; INTERNAL_UNAVAILABLE when the database cannot be read.
 */
export async function currentAccess(deps: AccessDeps, context: RequestContext, digests: KeyDigests): Promise<Access> {
  const access = await context.timings.wait('postgres', deps.access.read(digests))
  if (
    access === undefined ||
    access.environment !== deps.environment ||
    access.revoked_at !== null ||
    access.expires_at.getTime() <= Date.now()
  )
    throw new ServiceError('INVALID_API_KEY')
  if (!access.scopes.includes(RETRIEVAL_SCOPE)) throw new ServiceError('SCOPE_FORBIDDEN')
  return access
}
