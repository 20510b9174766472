import type { PlanLimits } from '#core/domain/quota-plan.ts'

/** A caller that a scenario needs: an organization with one client, a plan, an entitlement and keys. */
export interface TenantWanted {
  readonly name: string
  /** Limits that differ from those that no scenario reaches. */
  readonly limits: DeepPartial<PlanLimits>
  readonly keys: number
}

type DeepPartial<T> = { readonly [K in keyof T]?: T[K] extends object ? DeepPartial<T[K]> : T[K] }

/** A caller as a run knows it. */
export interface Tenant {
  readonly name: string
  readonly secrets: readonly string[]
  /** The cap of its plan; undefined where nobody said. */
  readonly concurrency: number | undefined
  /** What the service should hold it to; undefined where nobody said. */
  readonly limits: PlanLimits | undefined
  /** Undefined against a deployment that is seen from outside alone. */
  readonly ids: { readonly organizationId: string; readonly entitlementId: string } | undefined
}
