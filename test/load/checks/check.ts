import type { RequestRecord } from '../record.ts'
import type { Tenant } from '../tenant.ts'
import type { Reservation, Truth } from '../truth.ts'

/** Everything that is known about one scenario after it ended. */
export interface Evidence {
  readonly records: readonly RequestRecord[]
  readonly tenants: readonly Tenant[]
  /** What the service recorded; undefined where it is seen from outside alone. */
  readonly truth: Truth | undefined
  /** Gateways that the scenario ended on purpose; wall clock. */
  readonly kills: readonly { readonly gateway: number; readonly atMs: number }[]
}

export interface Violation {
  readonly tenant: string
  readonly message: string
}

export interface Found {
  /** Facts that the check could have refused; 0: the scenario did not bring them about. */
  readonly checked: number
  readonly violations: readonly Violation[]
}

/** A pure function over the evidence of one scenario. */
export interface Check {
  readonly name: string
  /** The sentence that holds. */
  readonly guarantee: string
  /** What can be checked by replies alone. */
  readonly outside: 'whole' | 'partly' | 'no'
  find(evidence: Evidence): Found
}

/** Judges each tenant for itself. */
export function perTenant(
  evidence: Evidence,
  judge: (of: TenantEvidence, violated: (message: string) => void) => number,
): Found {
  const violations: Violation[] = []
  let checked = 0
  for (const of of tenantsOf(evidence))
    checked += judge(of, (message) => violations.push({ tenant: of.tenant.name, message }))
  return { checked, violations }
}

/** The part of the evidence that is about one tenant. */
export interface TenantEvidence {
  readonly tenant: Tenant
  readonly records: readonly RequestRecord[]
  /** By id; undefined from outside. */
  readonly reservations: ReadonlyMap<string, Reservation> | undefined
}

function tenantsOf({ records, tenants, truth }: Evidence): readonly TenantEvidence[] {
  const [first] = tenants
  // From outside all keys are of one entitlement.
  if (truth === undefined) return first === undefined ? [] : [{ tenant: first, records, reservations: undefined }]
  const byTenant = Map.groupBy(records, ({ tenant }) => tenant)
  const byEntitlement = Map.groupBy(truth?.reservations ?? [], ({ entitlementId }) => entitlementId)
  return tenants.map((tenant) => ({
    tenant,
    records: byTenant.get(tenant.name) ?? [],
    reservations:
      truth === undefined || tenant.ids === undefined
        ? undefined
        : new Map((byEntitlement.get(tenant.ids.entitlementId) ?? []).map((one) => [one.id, one])),
  }))
}
