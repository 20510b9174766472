import type { PlanLimits } from '#core/domain/quota-plan.ts'

/**
 * The limits as the contract states them, computed from the reservations of an organization with plain loops. Nothing
 * here is shared with the code that it checks.
 */

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000

export interface KnownRequest {
  readonly id: string
  readonly entitlementId: string
  readonly admittedAtMs: number
  readonly deadlineAtMs: number
  readonly state: 'open' | 'delivered' | 'refunded' | 'failed'
  /** Chunks as `<document>-<ordinal>`, without those that an operator released. */
  readonly served: readonly string[]
}

/**
 * What a fault left uncertain until its deadline. A `charge` is in Redis only; a `settlement` is in Postgres only, so
 * that Redis still holds the lease and, after a refund, the charge, or lacks the exposure.
 */
export interface Doubt {
  readonly kind: 'charge' | 'settlement'
  readonly id: string
  readonly entitlementId: string
  readonly admittedAtMs: number
  readonly deadlineAtMs: number
}

export type Predicted = 'quota' | 'exposure' | 'rate' | 'concurrency' | 'admitted'

export interface Corpus {
  readonly passages: number
  /** Of the plans of the organization. */
  readonly longestWindowDays: number
}

/**
 * What admission may answer at an instant. Each doubt counts or not, apart from the others: a rebuild may have ended
 * one and not the next. Deliveries in doubt count, or do not, or only those whose lease is over. Where nothing is in
 * doubt, there is one answer.
 */
export function predict(
  nowMs: number,
  entitlementId: string,
  limits: PlanLimits,
  requests: readonly KnownRequest[],
  doubts: readonly Doubt[],
  corpus: Corpus,
): ReadonlySet<Predicted> {
  const settled = withoutOverdue(requests, limits, nowMs)
  const live = doubts.filter((doubt) => doubt.deadlineAtMs >= nowMs)
  const decide = (counted: readonly Doubt[], hidden: ReadonlySet<string>): Predicted => {
    const own = settled.filter((request) => request.entitlementId === entitlementId)
    const extra = counted.filter((doubt) => doubt.entitlementId === entitlementId)
    const charges = [
      ...own.filter(({ state }) => state !== 'refunded'),
      ...extra.filter(({ id }) => own.find((request) => request.id === id)?.state !== 'delivered'),
    ].map(({ admittedAtMs }) => admittedAtMs)
    const dayUsed = charges.filter((at) => dayOf(at) === dayOf(nowMs)).length
    const monthUsed = charges.filter((at) => monthOf(at) === monthOf(nowMs)).length
    if (monthUsed >= limits.requests_per_month || dayUsed >= limits.requests_per_day) return 'quota'
    const delivered = settled.filter(({ id, state }) => state === 'delivered' && !hidden.has(id))
    if (isExposed(nowMs, delivered, limits, corpus)) return 'exposure'
    const slots = [...own, ...extra.filter(({ kind }) => kind === 'charge')]
    if (slots.filter(({ admittedAtMs }) => admittedAtMs > nowMs - MINUTE_MS).length >= limits.requests_per_minute)
      return 'rate'
    const leases = [...own.filter(({ state }) => state === 'open'), ...extra]
    return leases.length >= limits.concurrency ? 'concurrency' : 'admitted'
  }
  const deliveriesOf = (among: readonly Doubt[]): ReadonlySet<string> =>
    new Set(among.filter(({ kind }) => kind === 'settlement').map(({ id }) => id))
  return new Set(
    subsetsOf(live).flatMap((counted) => [[], live, counted].map((hidden) => decide(counted, deliveriesOf(hidden)))),
  )
}

/** Doubts that count apart; further ones count together. */
const APART_MAX = 8

function subsetsOf(doubts: readonly Doubt[]): readonly (readonly Doubt[])[] {
  const rest = doubts.slice(APART_MAX)
  const parts = [...doubts.slice(0, APART_MAX).map((doubt) => [doubt]), ...(rest.length === 0 ? [] : [rest])]
  return parts.reduce<(readonly Doubt[])[]>(
    (subsets, part) => [...subsets, ...subsets.map((subset) => [...subset, ...part])],
    [[]],
  )
}

/** Reservations past their deadline are refunded before anything is decided, up to the daily cap. */
function withoutOverdue(
  requests: readonly KnownRequest[],
  { requests_per_day: cap }: PlanLimits,
  nowMs: number,
): readonly KnownRequest[] {
  const refunds = new Map<string, number>()
  const keyOf = (request: KnownRequest): string => `${request.entitlementId} ${dayOf(request.admittedAtMs)}`
  for (const request of requests)
    if (request.state === 'refunded') refunds.set(keyOf(request), (refunds.get(keyOf(request)) ?? 0) + 1)
  return requests.map((request): KnownRequest => {
    if (request.state !== 'open' || request.deadlineAtMs > nowMs) return request
    const before = refunds.get(keyOf(request)) ?? 0
    refunds.set(keyOf(request), before + 1)
    return { ...request, state: before < cap ? 'refunded' : 'failed' }
  })
}

/** Whether some row of days until now has as many new passages as the mark, and the daily part more for each day. */
function isExposed(
  nowMs: number,
  delivered: readonly KnownRequest[],
  { exposure }: PlanLimits,
  corpus: Corpus,
): boolean {
  const mark = Math.max(Math.floor(exposure.hard_share * corpus.passages), exposure.floors.corpus)
  const daily = Math.max(Math.floor(exposure.daily_share * corpus.passages), exposure.floors.daily)
  const today = Math.floor(nowMs / DAY_MS)
  const lastServed = new Map<string, number>()
  const newOn: number[] = []
  for (const { admittedAtMs, served } of delivered.toSorted((one, other) => one.admittedAtMs - other.admittedAtMs))
    for (const chunk of new Set(served)) {
      if (admittedAtMs - (lastServed.get(chunk) ?? -Infinity) >= corpus.longestWindowDays * DAY_MS)
        newOn.push(Math.floor(admittedAtMs / DAY_MS))
      lastServed.set(chunk, admittedAtMs)
    }
  return Array.from({ length: exposure.window_days + 1 }, (_, days) => days).some(
    (days) => newOn.filter((day) => day >= today - days).length >= mark + days * daily,
  )
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

export function monthOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 7)
}
