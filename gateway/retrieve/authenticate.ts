import { BOUNDS } from '#core/platform/bounds.ts'
import type { Access } from '#core/db/access.ts'
import { ServiceError } from '#core/platform/errors.ts'
import { RETRIEVAL_SCOPE, keyDigest, keyIsWellFormed } from '#core/credentials/api-key.ts'
import type { KeyEnvironment } from '#core/credentials/api-key.ts'
import type { Pepper } from '#core/platform/settings.ts'
import type { AccessCache } from '#gateway/access-cache.ts'
import type { Exchange } from './exchange.ts'

export interface AuthenticateDeps {
  readonly access: AccessCache
  readonly peppers: readonly Pepper[]
  readonly environment: KeyEnvironment
  readonly failures: FailureBudget
}

/** The digests of one presented key, under each pepper in use; made by `authenticate` alone. */
export type KeyDigests = readonly Buffer[]

/**
 * Who is calling, from the header alone. Every refusal of a key is the same 401.
 * @throws ServiceError INVALID_API_KEY, SCOPE_FORBIDDEN, or INTERNAL_UNAVAILABLE when the database cannot be asked.
 */
export async function authenticate(deps: AuthenticateDeps, exchange: Exchange): Promise<KeyDigests> {
  const key = bearerKey(exchange.incoming.headers.authorization)
  if (key === undefined || !keyIsWellFormed(key) || !key.startsWith(`erk_${deps.environment}_`))
    throw new ServiceError('INVALID_API_KEY')
  const digests = deps.peppers.map((pepper) => keyDigest(key, pepper))
  const { timings } = exchange
  if (deps.failures.isSpent(exchange.address) && !(await timings.wait('postgres', deps.access.isKnown(digests))))
    throw new ServiceError('INVALID_API_KEY')
  if ((await timings.wait('postgres', deps.access.read(digests))) === undefined) deps.failures.count(exchange.address)
  await accessNow(deps, exchange, digests)
  return digests
}

/**
 * What the key may reach at this moment, mostly from the cache.
 * @throws ServiceError as `authenticate`: also when the access was taken away since.
 */
export async function accessNow(deps: AuthenticateDeps, exchange: Exchange, digests: KeyDigests): Promise<Access> {
  const access = await exchange.timings.wait('postgres', deps.access.read(digests))
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

function bearerKey(header: string | undefined): string | undefined {
  return /^Bearer ([\w-]{1,128})$/i.exec(header ?? '')?.[1]
}

/**
 * Unknown keys per address and minute. Past the budget, unknown keys no longer reach the database; known ones keep
 * passing.
 */
export interface FailureBudget {
  isSpent(address: string): boolean
  count(address: string): void
}

export function createFailureBudget(now: () => number = Date.now): FailureBudget {
  const failures = new Map<string, { sinceMs: number; count: number }>()
  const current = (address: string): { sinceMs: number; count: number } | undefined => {
    const entry = failures.get(address)
    return entry !== undefined && now() - entry.sinceMs < 60_000 ? entry : undefined
  }
  return {
    isSpent: (address) => (current(address)?.count ?? 0) >= BOUNDS.failedKeysPerAddressPerMinute,
    count: (address) => {
      const entry = current(address)
      if (entry !== undefined) entry.count++
      else {
        failures.delete(address)
        const oldest = failures.keys().next()
        if (failures.size >= BOUNDS.failureAddressesMax && oldest.done !== true) failures.delete(oldest.value)
        failures.set(address, { sinceMs: now(), count: 1 })
      }
    },
  }
}
