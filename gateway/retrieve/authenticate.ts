import { ServiceError } from '#core/platform/errors.ts'
import { keyDigest, keyIsWellFormed } from '#core/credentials/api-key.ts'
import type { Pepper } from '#core/credentials/settings.ts'
import { currentAccess } from './access.ts'
import type { AccessDeps, KeyDigests } from './access.ts'
import type { RequestContext } from './request-context.ts'
import type { FailureBudget } from './failure-budget.ts'

export interface AuthenticateDeps extends AccessDeps {
  readonly peppers: readonly Pepper[]
  readonly failures: FailureBudget
}

/**
 * Identifies the caller from the Authorization header alone. Every refused key gets the same 401.
 * @throws ServiceError as `currentAccess`.
 */
export async function authenticate(deps: AuthenticateDeps, context: RequestContext): Promise<KeyDigests> {
  const key = bearerKey(context.incoming.headers.authorization)
  if (key === undefined || !keyIsWellFormed(key) || !key.startsWith(`erk_${deps.environment}_`))
    throw new ServiceError('INVALID_API_KEY')
  const digests = deps.peppers.map((pepper) => keyDigest(key, pepper))
  const { timings } = context
  if (deps.failures.isSpent(context.address) && !(await timings.wait('postgres', deps.access.isKnown(digests))))
    throw new ServiceError('INVALID_API_KEY')
  if ((await timings.wait('postgres', deps.access.read(digests))) === undefined) deps.failures.count(context.address)
  await currentAccess(deps, context, digests)
  return digests
}

function bearerKey(header: string | undefined): string | undefined {
  return /^Bearer ([\w-]{1,128})$/i.exec(header ?? '')?.[1]
}
