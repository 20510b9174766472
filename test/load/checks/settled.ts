import { periodOf } from '../truth.ts'
import type { Reservation } from '../truth.ts'
import type { Check, Evidence, Violation } from './check.ts'

function nameOf({ tenants }: Evidence, entitlementId: string): string {
  return tenants.find(({ ids }) => ids?.entitlementId === entitlementId)?.name ?? entitlementId
}

export const leasesEnd: Check = {
  name: 'leases-end',
  guarantee: 'No lease is left after the last request and the hard deadline, and no reservation stays open.',
  outside: 'no',
  find: (evidence) => {
    const { truth } = evidence
    if (truth === undefined) return { checked: 0, violations: [] }
    const violations: Violation[] = []
    for (const { entitlementId, leases } of truth.counters)
      if (leases > 0)
        violations.push({
          tenant: nameOf(evidence, entitlementId),
          message: `${leases} leases are left`,
        })
    for (const { id, state, entitlementId } of truth.reservations)
      if (state === 'open')
        violations.push({
          tenant: nameOf(evidence, entitlementId),
          message: `reservation ${id} is still open`,
        })
    return { checked: truth.counters.length + truth.reservations.length, violations }
  },
}

/** Charged requests of an entitlement by the names of its counters. */
function chargedByPeriod(reservations: readonly Reservation[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { state, admittedAtMs } of reservations) {
    if (state === 'refunded') continue
    for (const period of ['day', 'month'] as const) {
      const name = periodOf(period, admittedAtMs)
      counts.set(name, (counts.get(name) ?? 0) + 1)
    }
  }
  return counts
}

export const countersAgree: Check = {
  name: 'counters-agree',
  guarantee: 'Redis counts as many charged requests of a day and a month as there are reservations.',
  outside: 'no',
  find: (evidence) => {
    const { truth } = evidence
    if (truth === undefined || truth.settledAfterMs === null) return { checked: 0, violations: [] }
    const byEntitlement = Map.groupBy(truth.reservations, ({ entitlementId }) => entitlementId)
    const violations: Violation[] = []
    let checked = 0
    for (const { entitlementId, counts } of truth.counters) {
      const charged = chargedByPeriod(byEntitlement.get(entitlementId) ?? [])
      for (const [name, count] of Object.entries(counts)) {
        checked++
        const wanted = charged.get(name) ?? 0
        if (count !== wanted)
          violations.push({
            tenant: nameOf(evidence, entitlementId),
            message: `Redis counts ${count} in ${name}; ${wanted} reservations are charged`,
          })
      }
    }
    return { checked, violations }
  },
}
