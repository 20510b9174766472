import type { Counters, Evidence, Reservation, Tenant } from '../evidence.ts'
import type { RequestRecord } from '../record.ts'

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
  find(evidence: Evidence): Found
}

/** The part of the evidence that is about one tenant. */
export interface TenantEvidence {
  readonly tenant: Tenant
  readonly records: readonly RequestRecord[]
  /** By id. */
  readonly reservations: ReadonlyMap<string, Reservation>
  readonly counters: readonly Counters[]
  readonly all: Evidence
}

/** @param judge judges one tenant. @returns facts that it checked. */
export function check(
  name: string,
  guarantee: string,
  judge: (of: TenantEvidence, violated: (message: string) => void) => number,
): Check {
  return {
    name,
    guarantee,
    find(evidence) {
      const violations: Violation[] = []
      let checked = 0
      for (const of of tenantsOf(evidence))
        checked += judge(of, (message) => violations.push({ tenant: of.tenant.name, message }))
      return { checked, violations }
    },
  }
}

function tenantsOf(all: Evidence): readonly TenantEvidence[] {
  const byTenant = Map.groupBy(all.records, ({ tenant }) => tenant)
  const byEntitlement = Map.groupBy(all.reservations, ({ entitlementId }) => entitlementId)
  return all.tenants.map((tenant) => ({
    tenant,
    records: byTenant.get(tenant.name) ?? [],
    reservations: new Map((byEntitlement.get(tenant.entitlementId) ?? []).map((one) => [one.id, one])),
    counters: all.counters.filter(({ entitlementId }) => entitlementId === tenant.entitlementId),
    all,
  }))
}
