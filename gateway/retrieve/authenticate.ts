import { RETRIEVAL_SCOPE, keyDigest, keyIsWellFormed, type KeyEnvironment } from '#core/credentials/api-key.ts'
import type { Pepper } from '#core/credentials/settings.ts'
import type { Access } from '#core/db/access.ts'
import { ServiceError } from '#core/platform/errors.ts'
import type { AccessCache } from '#gateway/access-cache.ts'
import type { RequestContext } from './request-context.ts'
import type { FailureBudget } from './failure-budget.ts'

export interface AccessDeps {
  readonly access: AccessCache
  readonly environment: KeyEnvironment
}

export interface AuthenticateDeps extends AccessDeps {
  readonly peppers: readonly Pepper[]
  readonly failures: FailureBudget
}

/**
 * Identifies the caller from the Authorization header alone. Every refused key gets the same 401; a header without the
 * scheme gets one that says so, which tells nothing of a key.
 * @throws ServiceError as `usable`; INTERNAL_UNAVAILABLE when the database cannot be read.
 */
export async function authenticate(deps: AuthenticateDeps, context: RequestContext): Promise<void> {
  const { authorization = '' } = context.incoming.headers
  if (!/^Bearer /i.test(authorization)) throw new ServiceError('INVALID_API_KEY', { lacksScheme: true })
  const key = /^Bearer ([\w-]{1,128})$/i.exec(authorization)?.[1]
  if (key === undefined || !keyIsWellFormed(key) || !key.startsWith(`erk_${deps.environment}_`))
    throw new ServiceError('INVALID_API_KEY')
  const digests = deps.peppers.map((pepper) => keyDigest(key, pepper))
  const { timings, address } = context
  if (deps.failures.isSpent(address) && !(await timings.wait('postgres', deps.access.isKnown(digests))))
    throw new ServiceError('INVALID_API_KEY')
  const access = await timings.wait('postgres', deps.access.read(digests))
  if (access === undefined) deps.failures.count(address)
  else {
    // A refusal is counted and logged under its client, too.
    context.client = access.client
    context.about.client_id = access.client_id
  }
  usable(deps.environment, access)
  context.digests = digests
}

/**
 * Returns the access of a key that may retrieve now.
 * @throws ServiceError INVALID_API_KEY when the key is unknown, revoked, expired or of another environment;
 * SCOPE_FORBIDDEN.
 */
export function usable(environment: KeyEnvironment, access: Access | undefined): Access {
  if (
    access === undefined ||
    access.environment !== environment ||
    access.revoked_at !== null ||
    access.expires_at.getTime() <= Date.now()
  )
    throw new ServiceError('INVALID_API_KEY')
  if (!access.scopes.includes(RETRIEVAL_SCOPE)) throw new ServiceError('SCOPE_FORBIDDEN')
  return access
}
