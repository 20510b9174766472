import { z } from 'zod'
import type { ServedPassage } from '#core/domain/exposure.ts'
import type { Queryable } from './pool.ts'

/** Everything that is fixed when a request is admitted; written before any paid work. */
export interface NewReservation {
  readonly id: string
  readonly traceId: string
  readonly organizationId: string
  readonly clientId: string
  readonly environment: string
  readonly apiKeyId: string
  readonly entitlementId: string
  readonly planId: string
  readonly knowledgeBaseId: string
  readonly versionId: string
  readonly profileId: string
  readonly idempotencyDigest: Buffer | null
  readonly fingerprint: Buffer
  readonly fingerprintEpoch: number
  readonly admittedAtMs: number
  readonly deadlineAtMs: number
  /** UTC day, YYYY-MM-DD. */
  readonly inForceOn: string
}

/** Covered by the partial unique index. */
const BY_IDEMPOTENCY = `
  select id from reservations
  where client_id = $1 and environment = $2 and idempotency_digest = $3 and state <> 'refunded'`

/**
 * Only while open: a reservation that the sweeper settled cannot be delivered any more. A repetition with the same
 * outcome succeeds.
 */
const RECORD = `
  update reservations set state = 'delivered', finished_at = coalesce(finished_at, clock_timestamp()), outcome = $2,
    served = $3
  where id = $1 and (state = 'open' or (state = 'delivered' and outcome = $2::jsonb))
  returning id`

/** The caller disconnected: the request is charged and nothing is delivered. */
const RECORD_ABANDONED = `
  update reservations set state = 'failed', finished_at = clock_timestamp(), outcome = $2
  where id = $1 and state = 'open'`

/**
 * Serializes the refunds of one entitlement, so that their daily cap holds exactly. It also blocks a rebuild of the
 * organization's counters, so that the epoch read later in the same transaction is that of the charged counters.
 */
const LOCK_REFUNDS = `
  select pg_advisory_xact_lock_shared(hashtextextended(organization_id::text, 0)),
    pg_advisory_xact_lock(hashtextextended('refunds:' || entitlement_id::text, 0))
  from reservations where id = $1`

/** Above the cap of refunds per UTC day the request stays charged: state "failed". */
const REFUND = `
  update reservations as r set finished_at = clock_timestamp(), outcome = $2,
    state = case when (
      select count(*) from reservations as other
      where other.entitlement_id = r.entitlement_id and other.state = 'refunded'
      and other.finished_at >= date_trunc('day', now() at time zone 'utc') at time zone 'utc'
        and other.admitted_at >= (date_trunc('day', now() at time zone 'utc') at time zone 'utc') - interval '1 day'
    ) < coalesce((select (limits ->> 'requests_per_day')::bigint from plans where plans.id = r.plan_id),
    0) then 'refunded' else 'failed' end
  where id = $1 and state = 'open'
  returning state, organization_id, client_id, environment, entitlement_id, knowledge_base_id, idempotency_digest`

const FIND_OPEN_PAST_DEADLINE = `
  select id from reservations where state = 'open' and deadline_at < now() order by deadline_at limit $1`

export async function findByIdempotency(
  database: Queryable,
  clientId: string,
  environment: string,
  digest: Buffer,
): Promise<string | undefined> {
  const { rows } = await database.query<{ id: string }>({
    name: 'reservation-by-idempotency',
    text: BY_IDEMPOTENCY,
    values: [clientId, environment, digest],
  })
  return rows[0]?.id
}

/** Outcome of a finished request in the ledger, without text of query or passage. */
export interface Outcome {
  readonly decision: 'answer' | 'abstain' | null
  readonly error_code: string | null
  readonly result_count: number
  readonly response_bytes: number
  readonly query_embedding_tokens: number | null
  readonly signal: string | null
  readonly threshold: number | null
  readonly observed_value: number | null
  readonly top_k: number
  readonly chunk_ids: readonly string[]
  /** SHA-256 of the reply's bytes, hex. */
  readonly reply_sha256: string | null
}

/** @returns false if the reservation is no longer open. */
export async function recordDelivered(
  database: Queryable,
  requestId: string,
  outcome: Outcome,
  served: readonly ServedPassage[],
): Promise<boolean> {
  const { rowCount } = await database.query({
    name: 'record-delivered',
    text: RECORD,
    values: [requestId, JSON.stringify(outcome), JSON.stringify(served)],
  })
  return rowCount === 1
}

export async function recordAbandoned(database: Queryable, requestId: string, outcome: Outcome): Promise<void> {
  await database.query(RECORD_ABANDONED, [requestId, JSON.stringify(outcome)])
}

const refundedRow = z.object({
  state: z.enum(['refunded', 'failed']),
  organization_id: z.string(),
  client_id: z.string(),
  environment: z.string(),
  entitlement_id: z.string(),
  knowledge_base_id: z.string(),
  idempotency_digest: z.instanceof(Buffer).nullable(),
})
export type RefundedReservation = z.infer<typeof refundedRow>

/**
 * Runs inside a transaction.
 * @returns undefined if the reservation is no longer open.
 */
export async function refundReservation(
  client: Queryable,
  requestId: string,
  outcome: Outcome,
): Promise<RefundedReservation | undefined> {
  await client.query(LOCK_REFUNDS, [requestId])
  const { rows } = await client.query(REFUND, [requestId, JSON.stringify(outcome)])
  return rows.length === 0 ? undefined : refundedRow.parse(rows[0])
}

export async function findOpenPastDeadline(database: Queryable, limit: number): Promise<readonly string[]> {
  const { rows } = await database.query<{ id: string }>(FIND_OPEN_PAST_DEADLINE, [limit])
  return rows.map((row) => row.id)
}

const countersRow = z.object({
  entitlement_id: z.string(),
  client_id: z.string(),
  environment: z.string(),
  knowledge_base_id: z.string(),
  day_used: z.coerce.number(),
  month_used: z.coerce.number(),
})

/** Usage of every entitlement of an organization in the current day and month (UTC). Refunded requests do not count. */
const COUNT_USED = `
  select entitlement_id, client_id, environment, knowledge_base_id,
    count(*) filter (where state <> 'refunded' and admitted_at >= date_trunc('day',
    now() at time zone 'utc') at time zone 'utc') as day_used,
    count(*) filter (where state <> 'refunded') as month_used
  from reservations
  where organization_id = $1 and admitted_at >= date_trunc('month', now() at time zone 'utc') at time zone 'utc'
  group by entitlement_id, client_id, environment, knowledge_base_id`

const recentRow = z.object({
  id: z.string(),
  entitlement_id: z.string(),
  client_id: z.string(),
  environment: z.string(),
  knowledge_base_id: z.string(),
  admitted_ms: z.coerce.number(),
  deadline_ms: z.coerce.number(),
  state: z.string(),
  idempotency_digest: z.instanceof(Buffer).nullable(),
})

/**
 * Admissions of the last minute, and everything still open. Refunded ones are included, because a minute slot is never
 * returned.
 */
const RECENT_OR_OPEN = `
  select id, entitlement_id, client_id, environment, knowledge_base_id, extract(epoch
    from admitted_at) * 1000 as admitted_ms,
    extract(epoch from deadline_at) * 1000 as deadline_ms, state, idempotency_digest
  from reservations
  where organization_id = $1 and (admitted_at > now() - interval '60 seconds' or state = 'open')`

const servedRow = z.object({
  knowledge_base_id: z.string(),
  finished_ms: z.coerce.number(),
  window_days: z.coerce.number(),
  served: z.array(
    z.object({ chunk: z.string(), document: z.string(), revision: z.string(), ordinal: z.number(), total: z.number() }),
  ),
})

/** Passages served in each request's own exposure window, except those that an operator has released since. */
const SERVED_IN_WINDOW = `
  select r.knowledge_base_id, extract(epoch from r.finished_at) * 1000 as finished_ms, r.served,
    (p.limits -> 'exposure' ->> 'window_days')::int as window_days
  from reservations as r join plans as p on p.id = r.plan_id
  where r.organization_id = $1 and r.state = 'delivered' and r.served <> '[]'
    and r.admitted_at >=
      now() - (p.limits -> 'exposure' ->> 'window_days')::int * interval '1 day' - interval '1 minute'
    and r.finished_at > coalesce((select max(released_at) from exposure_releases as e
    where e.organization_id = r.organization_id and e.knowledge_base_id = r.knowledge_base_id), '-infinity')
  order by r.finished_at`

export async function readUsed(
  database: Queryable,
  organizationId: string,
): Promise<readonly z.infer<typeof countersRow>[]> {
  return z.array(countersRow).parse((await database.query(COUNT_USED, [organizationId])).rows)
}

export async function readRecentOrOpen(
  database: Queryable,
  organizationId: string,
): Promise<readonly z.infer<typeof recentRow>[]> {
  return z.array(recentRow).parse((await database.query(RECENT_OR_OPEN, [organizationId])).rows)
}

export async function readServedInWindow(
  database: Queryable,
  organizationId: string,
): Promise<readonly z.infer<typeof servedRow>[]> {
  return z.array(servedRow).parse((await database.query(SERVED_IN_WINDOW, [organizationId])).rows)
}
