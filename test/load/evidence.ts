import type { ServedPassage } from '#core/domain/exposure.ts'
import type { PlanLimits } from '#core/domain/quota-plan.ts'
import type { RequestRecord } from './record.ts'

/** A caller: an organization with one client, a plan, an entitlement and keys. */
export interface Tenant {
  readonly name: string
  readonly secrets: readonly string[]
  readonly limits: PlanLimits
  readonly organizationId: string
  readonly entitlementId: string
}

/** A reservation, as Postgres holds it; times are ms since 1970-01-01. */
export interface Reservation {
  readonly id: string
  readonly entitlementId: string
  /** Clock of Redis, whole milliseconds. */
  readonly admittedAtMs: number
  readonly deadlineAtMs: number
  /** Clock of Postgres; null while it is open. */
  readonly finishedAtMs: number | null
  readonly state: 'open' | 'delivered' | 'refunded' | 'failed'
  readonly served: readonly ServedPassage[]
  /** Its entries in the ledger; there must be one. */
  readonly ledger: readonly { readonly state: string; readonly charged: boolean }[]
}

/** What Redis counts for one entitlement. */
export interface Counters {
  readonly entitlementId: string
  /** Requests that hold a lease. */
  readonly leases: number
  /** Charged requests by UTC day and month: `d20779`, `m24323`. */
  readonly counts: Readonly<Record<string, number>>
}

/** What the service recorded of a scenario, read once all its requests are settled. */
export interface Truth {
  readonly reservations: readonly Reservation[]
  readonly counters: readonly Counters[]
  /** Time from the end of the last request until everything was settled; null: it was not within the bound. */
  readonly settledAfterMs: number | null
  /** Passages of the corpus, for the marks of the exposure. */
  readonly corpusPassages: number
}

/** Everything that is known about one scenario after it ended. */
export interface Evidence extends Truth {
  readonly records: readonly RequestRecord[]
  readonly tenants: readonly Tenant[]
  /** Gateways that the scenario ended on purpose; wall clock. */
  readonly kills: readonly Kill[]
}

export interface Kill {
  readonly gateway: number
  readonly atMs: number
}

export type Period = 'day' | 'month'

/** Name of the counter of the UTC day or month that holds an instant. */
export function periodOf(period: Period, ms: number): string {
  const date = new Date(ms)
  return period === 'day'
    ? `d${Math.floor(ms / 86_400_000)}`
    : `m${date.getUTCFullYear() * 12 + date.getUTCMonth() + 1}`
}
