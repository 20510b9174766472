import type { Arrival } from './arrivals.ts'
import type { Evidence } from './checks/check.ts'
import type { EmbeddedControls } from './scenarios/scenario.ts'
import type { Tenant, TenantWanted } from './tenant.ts'
import type { Truth } from './truth.ts'

/** Where a run sends its requests: services that it started, or a deployment that it sees from outside. */
export interface Target {
  readonly mode: 'embedded' | 'url'
  readonly knowledgeBase: string
  readonly questions: readonly string[]
  baseUrls(clock: 'real' | 'moved'): Promise<readonly string[]>
  tenantsOf(scenario: string, wanted: readonly TenantWanted[]): Promise<readonly Tenant[]>
  /** A well-formed key that the service does not know. */
  unknownKey(): string
  controls(clock: 'real' | 'moved', onKill: (gateway: number) => void): EmbeddedControls | undefined
  clockOffsetMs(clock: 'real' | 'moved'): number
  /** Waits for the end of what is under way. Undefined from outside. */
  readTruth(tenants: readonly Tenant[], lastEndMs: number): Promise<Truth | undefined>
}

export type Kill = Evidence['kills'][number]

/** Takes turns between keys and gateways where the arrival names none. */
export function chosen(arrival: Arrival, n: number, of: readonly string[]): string {
  return of[(arrival.key ?? n) % of.length] ?? ''
}
