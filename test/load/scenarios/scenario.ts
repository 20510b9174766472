import type { PlanLimits } from '#core/domain/quota-plan.ts'
import type { Arrival } from '../arrivals.ts'
import type { RequestRecord } from '../record.ts'

/** What a scenario may scale by. */
export interface LoadSettings {
  /** Length of the sustained phases. */
  readonly seconds: number
  readonly seed: number
  readonly gateways: number
}

/** A caller that a scenario needs. */
export interface TenantWanted {
  readonly name: string
  /** Limits that differ from those that no scenario reaches. */
  readonly limits: DeepPartial<PlanLimits>
  readonly keys: number
}

type DeepPartial<T> = { readonly [K in keyof T]?: T[K] extends object ? DeepPartial<T[K]> : T[K] }

export interface OfferOptions {
  /** Longest Retry-After that a probe waits for. */
  readonly probeWaitMaxMs?: number
  /** Offered time, where it is longer than the last arrival. */
  readonly lastsMs?: number
}

/** What a scenario acts on. After an interruption nothing is offered and no time passes. */
export interface Stage extends LoadSettings {
  readonly questions: readonly string[]
  /** Offers all arrivals and waits for the end of every request. */
  offer(phase: string, arrivals: readonly Arrival[], options?: OfferOptions): Promise<readonly RequestRecord[]>
  wait(ms: number): Promise<void>
  /** How long the embedding provider takes for a query, 20 ms at first; where it fails, a request is refunded. */
  provider(latencyMs: number, failing?: boolean): void
  /** Ends a gateway at once, as in a crash: its leases stay. */
  kill(gateway: number): Promise<void>
  restart(gateway: number): Promise<void>
  /** Moves the clock of Redis, for scenarios with `clock: 'moved'`. Never backwards, never before the real time. */
  moveClock(aheadMs: number): Promise<void>
  /** Reports a number that nothing judges. */
  figure(name: string, value: number): void
  /** Requests a second at which the service is saturated, of the scenario `saturation`. */
  saturation(): number
}

/** Data and arrivals; the checks are the same for all. */
export interface Scenario {
  readonly name: string
  readonly title: string
  /** The scenario before which this one cannot run. */
  readonly after?: string
  /** `moved`: it has gateways whose Redis clock can be moved. */
  readonly clock?: 'moved'
  readonly tenants: readonly TenantWanted[]
  play(stage: Stage): Promise<void>
}

/** Replies with status 200 a second, counted while load was offered; what is answered later does not count. */
export function goodput(records: readonly RequestRecord[], overMs: number): number {
  const began = Math.min(...records.map(({ scheduledMs }) => scheduledMs))
  const inTime = records.filter(({ status, endedMs }) => status === 200 && endedMs <= began + overMs)
  return overMs === 0 || records.length === 0 ? 0 : (inTime.length * 1_000) / overMs
}
