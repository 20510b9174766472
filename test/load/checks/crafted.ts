import { randomUUID } from 'node:crypto'
import { planLimitsSchema } from '#core/domain/quota-plan.ts'
import { periodOf, type Evidence, type Reservation } from '#test/load/evidence.ts'
import { NO_REPLY } from '#test/load/client.ts'
import type { RequestRecord } from '#test/load/record.ts'
import { CHECKS } from '#test/load/run.ts'

/** Instants of crafted evidence are milliseconds after this one, at noon of a UTC day. */
export const NOON_MS = Date.UTC(2026, 4, 15, 12)
const ENTITLEMENT = randomUUID()

const MANY = 1_000
const UNREACHED = {
  requests_per_minute: MANY,
  requests_per_day: MANY,
  exposure: { floors: { corpus: MANY, document: MANY } },
}

/** A request with its reservation and ledger entry, as a right service leaves them. */
export interface Exchange {
  readonly record: RequestRecord
  readonly reservation: Reservation | undefined
}

export interface Crafted {
  readonly startMs?: number
  readonly endMs?: number
  readonly record?: Partial<RequestRecord>
  readonly reservation?: Partial<Reservation>
}

let numbers = 0

/** Answered with 200, admitted 2 ms after its start and finished 2 ms before its end. */
export function delivered({ startMs = 0, endMs = startMs + 100, record, reservation }: Crafted = {}): Exchange {
  const id = randomUUID()
  const admittedAtMs = NOON_MS + startMs + 2
  return {
    record: { ...recordOf(startMs, endMs), requestId: `req_${id}`, status: 200, ...record },
    reservation: {
      id,
      entitlementId: ENTITLEMENT,
      admittedAtMs,
      deadlineAtMs: admittedAtMs + 20_000,
      finishedAtMs: NOON_MS + endMs - 2,
      state: 'delivered',
      served: [],
      ledger: [{ state: 'delivered', charged: true }],
      ...reservation,
    },
  }
}

/** Refused with this code, without a reservation. */
export function refused(code: string, { startMs = 0, endMs = startMs + 5, record }: Crafted = {}): Exchange {
  const status = code === 'INVALID_API_KEY' ? 401 : code === 'REQUEST_ALREADY_PROCESSED' ? 409 : 429
  const retryAfterSeconds = code === 'RATE_LIMITED' ? 1 : null
  return { record: { ...recordOf(startMs, endMs), status, code, retryAfterSeconds, ...record }, reservation: undefined }
}

/** Admitted, answered with 503 and refunded. */
export function refunded(crafted: Crafted = {}): Exchange {
  return delivered({
    ...crafted,
    record: { status: 503, code: 'RETRIEVAL_UNAVAILABLE', retryAfterSeconds: 1, ...crafted.record },
    reservation: { state: 'refunded', ledger: [{ state: 'refunded', charged: false }], ...crafted.reservation },
  })
}

function recordOf(startMs: number, endMs: number): RequestRecord {
  return {
    ...NO_REPLY,
    n: numbers++,
    phase: 'phase',
    tenant: 'tenant',
    unknownKey: false,
    gateway: 0,
    scheduledMs: NOON_MS + startMs,
    startedMs: NOON_MS + startMs,
    endedMs: NOON_MS + endMs,
    latencyMs: endMs - startMs,
    lateMs: 0,
    clockOffsetMs: 0,
    outcome: 'replied',
    requestId: `req_${randomUUID()}`,
    minuteLeft: 1,
    idempotencyKey: null,
    probeOf: null,
  }
}

/** The evidence of a scenario with one tenant, with counters that agree. @param limits others are reached by nothing. */
export function craftEvidence(exchanges: readonly Exchange[], limits: object = {}): Evidence {
  const reservations = exchanges.flatMap(({ reservation }) => reservation ?? [])
  const counts: Record<string, number> = {}
  for (const { admittedAtMs, state } of reservations)
    for (const name of [periodOf('day', admittedAtMs), periodOf('month', admittedAtMs)])
      if (state !== 'refunded') counts[name] = (counts[name] ?? 0) + 1
  const tenant = {
    name: 'tenant',
    secrets: ['key'],
    limits: planLimitsSchema.parse({ ...UNREACHED, ...limits }),
    organizationId: randomUUID(),
    entitlementId: ENTITLEMENT,
  }
  return {
    records: exchanges.map(({ record }) => record),
    tenants: [tenant],
    reservations,
    counters: [{ entitlementId: ENTITLEMENT, leases: 0, counts }],
    settledAfterMs: 0,
    corpusPassages: 100,
    kills: [],
  }
}

/** Names of the violated checks. */
export function violatedChecks(evidence: Evidence): readonly string[] {
  return CHECKS.filter(({ find }) => find(evidence).violations.length > 0).map(({ name }) => name)
}
