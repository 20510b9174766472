/**
 * Names of the limit counters in Redis; `settle.lua` builds the same names. The organization is the hash tag. The epoch
 * is part of every counter's name, so counters of an earlier epoch are never read again and expire by themselves.
 */
export interface LimitScope {
  readonly organizationId: string
  readonly entitlementId: string
  readonly knowledgeBaseId: string
  readonly clientId: string
  readonly environment: string
}

/** Hash: `epoch` in force and the exposure `window` that was counted, in ms; absent while counters are rebuilt. */
export function epochKey(organizationId: string): string {
  return `${tag(organizationId)}:epoch`
}

/** Set: epochs that something was written under, the one in force and those that are not freed yet. */
export function epochsKey(organizationId: string): string {
  return `${tag(organizationId)}:epochs`
}

/** Hash: what of Postgres is known to be committed; `id` and `ms` of a reservation, `seq` and `hash` of an audit entry. */
export const CONFIRMED_KEY = 'confirmed'
/** Stream: the newest audit entries, each under its number. */
export const AUDIT_COPY_KEY = 'confirmed:audit'

export function tag(organizationId: string): string {
  return `{${organizationId}}`
}

/** Sorted set: every leased request of the organization, hard deadline. */
export function deadlinesKey(organizationId: string, epoch: string): string {
  return `${tag(organizationId)}:${epoch}:deadlines`
}

export function entitlementKeys(organizationId: string, epoch: string, entitlementId: string) {
  const root = `${tag(organizationId)}:${epoch}:entitlement:${entitlementId}`
  return {
    /** Sorted set: request id, instant of admission. */
    minute: `${root}:minute`,
    /** Sorted set: request id, hard deadline. A request is in it from its charge to its settlement. */
    leases: `${root}:leases`,
    /** Hash: requests by UTC day and month. */
    counts: `${root}:counts`,
    /** Number of Idempotency-Keys of refused requests that were looked up in Postgres within the minute. */
    lookups: `${root}:lookups`,
  }
}

/** Prefix of the exposure of an organization to a knowledge base; `exposure.lua` lists the keys under it. */
export function exposureKey(organizationId: string, epoch: string, exposed: ExposedBase): string {
  return `${tag(organizationId)}:${epoch}:exposure:${exposedBase(exposed)}`
}

/** The part of the key's name after the epoch: replies of a client that a document's mark stopped lately. */
export function stopsSuffix(scope: LimitScope): string {
  return `stops:${scope.clientId}:${exposedBase(scope)}`
}

/** Test and live traffic are counted apart. */
export type ExposedBase = Pick<LimitScope, 'environment' | 'knowledgeBaseId'>

export function exposedBase({ environment, knowledgeBaseId }: ExposedBase): string {
  return `${environment}:${knowledgeBaseId}`
}

/** Set: what `exposedBase` names, with exposure. */
export function basesKey(organizationId: string, epoch: string): string {
  return `${tag(organizationId)}:${epoch}:bases`
}

/** The part of the key's name after the epoch: the request that is being admitted under an Idempotency-Key. */
export function heldKeySuffix(scope: LimitScope, digest: Buffer): string {
  return `key:${scope.clientId}:${scope.environment}:${digest.toString('base64url')}`
}
