import type { Arrival } from '../arrivals.ts'
import type { RequestRecord } from '../record.ts'
import type { ProviderBehaviour } from '../embedded/provider-behaviour.ts'
import type { TenantWanted } from '../tenant.ts'

/** What a scenario may scale by. */
export interface LoadSettings {
  /** Length of the sustained phases. */
  readonly seconds: number
  readonly seed: number
  readonly gateways: number
}

/** What a scenario can do only to services that the run started. */
export interface EmbeddedControls {
  /** How the embedding provider answers; every scenario begins with `{ latencyMs: 20, failing: false }`. */
  provider(behaviour: ProviderBehaviour): Promise<void>
  kill(gateway: number): Promise<void>
  restart(gateway: number): Promise<void>
  /** Moves the clock of Redis, for scenarios with `clock: 'moved'`. Never backwards, never before the real time. */
  moveClock(aheadMs: number): Promise<void>
}

export interface OfferOptions {
  /** Longest Retry-After that a probe waits for. */
  readonly probeWaitMaxMs?: number
  /** Offered time, where it is longer than the last arrival. */
  readonly lastsMs?: number
}

/** What a scenario acts on. After an interruption nothing is offered and no time passes. */
export interface Stage extends LoadSettings {
  /** Undefined for a deployment that is seen from outside. */
  readonly embedded: EmbeddedControls | undefined
  readonly questions: readonly string[]
  /** Offers all arrivals and waits for the end of every request. */
  offer(phase: string, arrivals: readonly Arrival[], options?: OfferOptions): Promise<readonly RequestRecord[]>
  wait(ms: number): Promise<void>
  /** Reports a number that nothing judges. */
  figure(name: string, value: number): void
  /** Requests a second at which the service is saturated, of the scenario `saturation`. */
  saturation(): number
}

/** Data and arrivals; the checks are the same for all. */
export interface Scenario {
  readonly name: string
  readonly title: string
  /** `embedded`: it needs plans, clock or provider of its own. */
  readonly needs: 'embedded' | 'anywhere'
  /** The scenario before which this one cannot run. */
  readonly after?: string
  /** `moved`: it has gateways whose Redis clock can be moved. */
  readonly clock?: 'moved'
  tenants(settings: LoadSettings): readonly TenantWanted[]
  play(stage: Stage): Promise<void>
}
