/**
 * Names of the limit counters in Redis. The organization is the hash tag, so one script may access all of them on a
 * cluster. The epoch is part of every counter's name, so counters of an earlier epoch are never read again and expire
 * by themselves.
 */
export interface LimitScope {
  readonly organizationId: string
  readonly epoch: number
  readonly entitlementId: string
  readonly knowledgeBaseId: string
  readonly clientId: string
  readonly environment: string
}

export interface LimitKeys {
  readonly ready: string
  readonly minute: string
  readonly leases: string
  readonly counts: string
  readonly exposure: string
  readonly flags: string
  readonly documentPrefix: string
  charge(requestId: string): string
  idempotency(digest: Buffer): string
}

/** Key of the epoch whose counters are complete; absent while they are being rebuilt. */
export function readyKey(organizationId: string): string {
  return `{${organizationId}}:ready`
}

export function limitKeys(scope: LimitScope): LimitKeys {
  const root = `{${scope.organizationId}}:${scope.epoch}`
  const entitlement = `${root}:entitlement:${scope.entitlementId}`
  const exposure = `${root}:exposure:${scope.knowledgeBaseId}`
  return {
    ready: readyKey(scope.organizationId),
    minute: `${entitlement}:minute`,
    leases: `${entitlement}:leases`,
    counts: `${entitlement}:counts`,
    exposure,
    flags: `${exposure}:flags`,
    documentPrefix: `${exposure}:document:`,
    charge: (requestId) => `${entitlement}:charge:${requestId}`,
    idempotency: (digest) =>
      `${root}:idempotency:${scope.clientId}:${scope.environment}:${digest.toString('base64url')}`,
  }
}
