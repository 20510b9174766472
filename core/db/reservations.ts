import { z } from 'zod'
import type { ServedPassage } from '#core/domain/exposure.ts'
import type { Filters, Withdrawn } from '#core/domain/search.ts'
import { endEpoch } from './limit-epochs.ts'
import type { Queryable } from './pool.ts'
import { changesOne, execute, rowOf, rowsOf, valueOf } from './rows.ts'

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
  /** SHA-256 of the manifest that the version is served from, in hexadecimal digits. */
  readonly projection: string
  /** Digests of the Idempotency-Key under each service secret. The first one is stored. Empty without a key. */
  readonly idempotencyDigests: readonly Buffer[]
  readonly fingerprint: Buffer
  readonly fingerprintEpoch: number
  /** Of the whole request under the same key as the fingerprint; undefined without an Idempotency-Key. */
  readonly requestDigest: Buffer | undefined
  /** Clock of Redis, ms since 1970-01-01. */
  readonly admittedAtMs: number
  readonly deadlineAtMs: number
  /** UTC day, YYYY-MM-DD. */
  readonly inForceOn: string
  /** Filters of the request, and those of its entitlement alone. */
  readonly filters: Filters
  readonly entitled: Filters
  /** What was withdrawn of the version; undefined: nothing. */
  readonly withdrawn?: readonly Withdrawn[]
}

const originalRow = z.object({
  id: z.string(),
  requestDigest: z.instanceof(Buffer).nullable(),
  fingerprintEpoch: z.int(),
  wrapped: z.instanceof(Buffer).nullable(),
})
/** The request that holds an Idempotency-Key. Its body can be compared while the key of its epoch is not erased. */
export type OriginalRequest = z.infer<typeof originalRow>

/** Covered by the partial unique index; the key of the original's epoch is found by its primary key. */
const findByIdempotency = rowOf(originalRow, 'reservation-by-idempotency')<
  [clientId: string, environment: string, digests: readonly Buffer[]]
>`
  select r.id, r.request_digest as "requestDigest", r.fingerprint_epoch as "fingerprintEpoch", f.wrapped
  from reservations as r left join fingerprint_keys as f
    on f.organization_id = r.organization_id and f.epoch = r.fingerprint_epoch
  where r.client_id = $1 and r.environment = $2 and r.idempotency_digest = any($3) and r.state <> 'refunded'`

/** The request that holds one of the digests; a request without an Idempotency-Key asks nothing. */
export async function findOriginal(
  database: Queryable,
  {
    clientId,
    environment,
    idempotencyDigests,
  }: Pick<NewReservation, 'clientId' | 'environment' | 'idempotencyDigests'>,
): Promise<OriginalRequest | undefined> {
  return idempotencyDigests.length === 0
    ? undefined
    : findByIdempotency(database, clientId, environment, idempotencyDigests)
}

/** Outcome of a finished request in the ledger, without text of query or passage. */
export interface Outcome {
  readonly decision: 'answer' | 'abstain' | null
  readonly error_code: string | null
  readonly result_count: number
  readonly response_bytes: number
  readonly query_embedding_tokens: number | null
  /** How the profile's rewriter ended: `failed` in a delivered request means that its own words were searched. */
  readonly rewriter: 'rewritten' | 'failed' | null
  readonly rewriting_tokens: number | null
  /** How the profile's reader ended: `failed` in a delivered request means that it was decided without. */
  readonly reader: 'read' | 'failed' | null
  readonly reader_tokens: number | null
  readonly signal: string | null
  readonly threshold: number | null
  readonly observed_value: number | null
  readonly top_k: number
  readonly chunk_ids: readonly string[]
  /** SHA-256 of the reply's bytes, hex. */
  readonly reply_sha256: string | null
  /** Address of the search node that answered. */
  readonly node: string | null
  /** Time of each stage until the outcome was recorded, in ms. */
  readonly stage_ms: Readonly<Record<string, number>>
}

/** Columns of a delivered request that a replay is compared with, apart from its outcome. */
export interface Replay {
  /** HMAC-SHA-256 of the query vector under the organization's fingerprint key, hex; null without vectors. */
  readonly query_vector_digest: string | null
  /** HMAC-SHA-256 of each query that a rewriter wrote, under the same key, hex; empty without a rewriting. */
  readonly rewriting_digests: readonly string[]
  /** SHA-256 of the text of each passage served, hex, in the order of the reply. */
  readonly passage_sha256: readonly string[]
  /** Positions in the list of the search, in the order of the re-ranker; null without one. */
  readonly rerank_order: readonly number[] | null
}

/** Why a request abstained, in the order of the list: without text of query or passage. */
export const groundsSchema = z.object({
  /** Passages that the filters left. */
  allowed: z.int(),
  /** Unsupported references of the query by their reason. */
  unsupported: z.record(z.string(), z.int()),
  candidates: z.array(
    z.object({
      chunk_id: z.string(),
      score: z.number(),
      /** By the profile's reader, where it decided. */
      read: z.number().optional(),
    }),
  ),
})
export type Grounds = z.infer<typeof groundsSchema>

export interface Delivered {
  readonly id: string
  readonly outcome: Outcome
  readonly served: readonly ServedPassage[]
  readonly replay: Replay
  /** Of an abstention. */
  readonly grounds?: Grounds | undefined
  /** Time after the reservation during which this outcome may be recorded; a statement that arrives later fails. */
  readonly withinMs: number
}

/** The function of the schema records each outcome within its time. */
const RECORD = 'select record_deliveries($1::jsonb) as id'

/**
 * Records outcomes of open reservations. A reservation that the sweeper settled cannot be delivered any more. A
 * repetition with the same outcome succeeds.
 * @returns the ids of those that are delivered now.
 */
export async function recordDelivered(
  database: Queryable,
  delivered: readonly Delivered[],
): Promise<ReadonlySet<string>> {
  const { rows } = await database.query<{ id: string }>({
    name: 'record-delivered',
    text: RECORD,
    values: [JSON.stringify(delivered)],
  })
  return new Set(rows.map((row) => row.id))
}

/**
 * The caller disconnected: the request is charged and nothing is delivered.
 * @returns false if the reservation is no longer open.
 */
export const recordAbandoned = changesOne<[requestId: string, outcome: Outcome]>`
  update reservations set state = 'failed', finished_at = clock_timestamp(), outcome = $2
  where id = $1 and state = 'open'`

/** Serializes the refunds of one entitlement, so that their daily cap holds exactly. */
const lockRefunds = execute<[requestId: string]>`
  select pg_advisory_xact_lock(hashtextextended('refunds:' || entitlement_id::text, 0))
  from reservations where id = $1`

/**
 * Waits for an outcome that is being committed. The statements after it see its outbox row; while that row is locked,
 * the reservation gets no ledger entry.
 */
const lockReservation = valueOf(z.string().optional())<[requestId: string]>`
  select state from reservations where id = $1 for no key update`
const lockOutbox = execute<[requestId: string]>`select from ledger_outbox where reservation_id = $1 for update`

/**
 * Refunds of one UTC day of admission are capped at the daily allowance. Above the cap an open reservation stays
 * charged: state "failed". A delivered one is refunded only where the caller says so ($3), below the cap.
 */
const refund = execute<[requestId: string, outcome: Outcome, deliveredToo: boolean]>`
  with own as (
    select r.id, (
      select count(*) from reservations as other
      where other.entitlement_id = r.entitlement_id and other.state = 'refunded'
        and other.admitted_at >= date_trunc('day', r.admitted_at at time zone 'utc') at time zone 'utc'
        and other.admitted_at <
          (date_trunc('day', r.admitted_at at time zone 'utc') + interval '1 day') at time zone 'utc'
    ) < coalesce((select (limits ->> 'requests_per_day')::bigint from plans where plans.id = r.plan_id), 0) as under_cap
    from reservations as r where r.id = $1
  )
  update reservations as r set finished_at = clock_timestamp(), outcome = $2,
    state = case when own.under_cap then 'refunded' else 'failed' end
  from own
  where r.id = own.id and (r.state = 'open' or ($3 and r.state = 'delivered' and own.under_cap
    and exists (select from ledger_outbox as o where o.reservation_id = r.id)))
  returning r.id`

const settledRow = z.object({
  state: z.enum(['open', 'delivered', 'refunded', 'failed']),
  organizationId: z.string(),
  clientId: z.string(),
  environment: z.string(),
  entitlementId: z.string(),
  knowledgeBaseId: z.string(),
  idempotencyDigest: z
    .instanceof(Buffer)
    .nullable()
    .transform((digest) => digest ?? undefined),
})
export type SettledReservation = z.infer<typeof settledRow>

const readSettled = rowOf(settledRow)<[requestId: string]>`
  select state, organization_id as "organizationId", client_id as "clientId", environment,
    entitlement_id as "entitlementId", knowledge_base_id as "knowledgeBaseId",
    idempotency_digest as "idempotencyDigest"
  from reservations where id = $1`

/**
 * Settles a reservation that delivered nothing, if it is open. Runs inside a transaction.
 * @returns the reservation as it is now; undefined where there is none.
 */
export async function refundReservation(
  client: Queryable,
  requestId: string,
  outcome: Outcome,
): Promise<SettledReservation | undefined> {
  await lockRefunds(client, requestId)
  await refund(client, requestId, outcome, false)
  return readSettled(client, requestId)
}

/**
 * Refunds a request whose caller was refused: an outcome that was recorded meanwhile is refunded too, unless the ledger
 * has it. Counters that were rebuilt meanwhile hold it as delivered, without a lease, so their epoch ends as well.
 * Runs inside a transaction.
 */
export async function refundRefused(
  client: Queryable,
  requestId: string,
  outcome: Outcome,
): Promise<SettledReservation | undefined> {
  await lockRefunds(client, requestId)
  const before = await lockReservation(client, requestId)
  await lockOutbox(client, requestId)
  await refund(client, requestId, outcome, true)
  const settled = await readSettled(client, requestId)
  if (before === 'delivered' && settled?.state === 'refunded') await endEpoch(client, settled.organizationId)
  return settled
}

const overdueRow = z.object({
  id: z.string(),
  client_id: z.string(),
  knowledge_base_id: z.string(),
  version_id: z.string(),
})

/**
 * Open reservations whose deadline is past. Deadlines are judged by the clock of Redis, which set them; null
 * organization: every one.
 */
export const findOverdue = rowsOf(overdueRow)<[redisNowMs: number, organizationId: string | null, limit: number]>`
  select id, client_id, knowledge_base_id, version_id from reservations
  where state = 'open' and deadline_at <= to_timestamp($1::float8 / 1000)
    and organization_id = coalesce($2, organization_id)
  order by deadline_at limit $3`
