import { seededRandom } from '#test/support/passages.ts'

/** How a caller treats its own request; by default it reads the reply at once. */
export type Behaviour =
  | { readonly kind: 'hang up'; readonly afterMs: number }
  /** Reads a part of the reply, waits, and reads on. */
  | { readonly kind: 'read slowly'; readonly pauseMs: number }

/** One request of a schedule. */
export interface Arrival {
  /** From the start of the phase. */
  readonly atMs: number
  /** Name of a tenant of the scenario. */
  readonly tenant: string
  /** Index of the tenant's key; round-robin by default. */
  readonly key?: number
  /** A well-formed key that the service does not know, in place of the tenant's. */
  readonly unknownKey?: boolean
  /** Index of the gateway; round-robin by default. */
  readonly gateway?: number
  readonly query?: string
  readonly idempotencyKey?: string
  readonly behaviour?: Behaviour
  /** Address of 127.0.0.0/8 that it comes from. */
  readonly from?: string
  /** A refusal with Retry-After is followed by one more request, as soon as the header allows it. */
  readonly probe?: boolean
}

/** A request as the generator sends it: an arrival with key, gateway, question and number chosen. */
export interface Outgoing extends Omit<Arrival, 'key' | 'probe'> {
  readonly n: number
  /** Number of the request that follows a refusal with Retry-After; undefined: none does. */
  readonly probeN: number | undefined
  readonly secret: string
  readonly gateway: number
  readonly query: string
}

/** All at once. */
export function burst(count: number, arrival: Omit<Arrival, 'atMs'>, atMs = 0): readonly Arrival[] {
  return Array.from({ length: count }, () => ({ ...arrival, atMs }))
}

/** At equal distances over `overMs`, the first at `fromMs`. */
export function evenly(count: number, overMs: number, arrival: Omit<Arrival, 'atMs'>, fromMs = 0): readonly Arrival[] {
  return Array.from({ length: count }, (_, n) => ({ ...arrival, atMs: fromMs + (n * overMs) / count }))
}

/** Open arrivals: a Poisson process, which goes on however slow the service is. */
export function poisson(
  perSecond: number,
  overMs: number,
  seed: number,
  arrivalOf: (n: number, random: () => number) => Omit<Arrival, 'atMs'>,
): readonly Arrival[] {
  const random = seededRandom(seed)
  const arrivals: Arrival[] = []
  const next = (): number => (-Math.log(1 - random()) * 1_000) / perSecond
  for (let atMs = next(); atMs < overMs; atMs += next()) arrivals.push({ ...arrivalOf(arrivals.length, random), atMs })
  return arrivals
}
