import { z } from 'zod'
import { embeddingSpaceSchema } from '#core/index/format/manifest.ts'
import { profileParametersSchema } from '#core/domain/retrieval-profile.ts'
import { filtersSchema } from '#core/domain/search.ts'
import { groundsSchema } from './reservations.ts'
import { changes, oneRowOf, rowOf, rowsOf, valueOf } from './rows.ts'

/** The record of one admitted request, as an operator looks it up. Texts of query and passages are in no table. */
const requestRow = z.object({
  id: z.uuid(),
  trace_id: z.uuid(),
  state: z.enum(['open', 'delivered', 'refunded', 'failed']),
  organization_id: z.uuid(),
  organization: z.string(),
  client: z.string(),
  environment: z.string(),
  /** The start of the key, as "operator keys list" shows it. */
  api_key: z.string(),
  api_key_id: z.uuid(),
  entitlement_id: z.uuid(),
  plan: z.string(),
  knowledge_base: z.string(),
  version_id: z.uuid(),
  /** Null where a gateway of an earlier release admitted the request. */
  projection: z.string().nullable(),
  profile_id: z.uuid().nullable(),
  /** UTC day. */
  in_force_on: z.string(),
  filters: z.object({ request: filtersSchema, entitlement: filtersSchema }),
  idempotency_key: z.boolean(),
  admitted_at: z.date(),
  finished_at: z.date().nullable(),
  outcome: z.record(z.string(), z.unknown()).nullable(),
  replay: z
    .object({
      query_vector_digest: z.string().nullable(),
      /** Absent in records of a release without rewriters. */
      rewriting_digests: z.array(z.string()).default([]),
      passage_sha256: z.array(z.string()),
      rerank_order: z.array(z.int()).nullable(),
    })
    .nullable(),
  /** Of an abstention of the last 30 days; null else, and once erased. */
  grounds: groundsSchema.nullable(),
  fingerprint: z.instanceof(Buffer),
  fingerprint_epoch: z.int(),
  /** Null once erased. */
  fingerprint_key: z.instanceof(Buffer).nullable(),
  /** Whether the ledger says that it is charged; null while it has no entry. */
  charged: z.boolean().nullable(),
  appended_at: z.date().nullable(),
})
export type RequestRow = z.infer<typeof requestRow>

/** The caller sees `req_` and `ret_` before these ids. */
export const readRequest = rowOf(requestRow)<[id: string]>`
  select r.id, r.trace_id, r.state, r.organization_id, o.name as organization, c.name as client, r.environment,
    k.prefix as api_key, r.api_key_id, r.entitlement_id, p.name as plan, b.slug as knowledge_base, r.version_id,
    encode(r.projection, 'hex') as projection, v.profile_id, r.in_force_on::text, r.filters, r.idempotency_digest is not null as idempotency_key, r.admitted_at,
    r.finished_at, r.outcome, r.replay, a.grounds, r.fingerprint, r.fingerprint_epoch, f.wrapped as fingerprint_key, l.charged,
    l.appended_at
  from reservations r
  join organizations o on o.id = r.organization_id
  join clients c on c.id = r.client_id
  join api_keys k on k.id = r.api_key_id
  join plans p on p.id = r.plan_id
  join knowledge_bases b on b.id = r.knowledge_base_id
  left join corpus_versions v on v.id = r.version_id
  left join fingerprint_keys f on f.organization_id = r.organization_id and f.epoch = r.fingerprint_epoch
  left join ledger l on l.reservation_id = r.id
  left join abstentions a on a.reservation_id = r.id
  where r.id = $1`

const oneId = valueOf(z.uuid().optional())

export const requestOfTrace = oneId<[traceId: string]>`select id from reservations where trace_id = $1 limit 1`

/** By the digests of the Idempotency-Key under each service secret. Refunded requests of the key count too. */
export const requestOfKey = oneId<[clientId: string, environment: string, digests: readonly Buffer[]]>`
  select id from reservations where client_id = $1 and environment = $2 and idempotency_digest = any($3)
  order by admitted_at desc limit 1`

const servedVersion = z.object({
  manifest_digest: z.instanceof(Buffer),
  /** Null for a version without vectors. */
  embedding: embeddingSpaceSchema.nullable(),
  profile: profileParametersSchema,
})
/** What a version is searched with; it is immutable. */
export type ServedVersion = z.infer<typeof servedVersion>

export const readServedVersion = oneRowOf(servedVersion)<[id: string]>`
  select manifest_digest, embedding, profile from corpus_versions where id = $1`

const listRow = z.object({
  id: z.uuid(),
  admitted_at: z.date(),
  client: z.string(),
  environment: z.string(),
  knowledge_base: z.string(),
  state: z.string(),
  decision: z.string().nullable(),
  error_code: z.string().nullable(),
  results: z.number().nullable(),
})

/** By the index on organization and admission; the newest first. */
export const listRequests = rowsOf(listRow)<[organizationId: string, clientId: string, since: Date, limit: number]>`
  select r.id, r.admitted_at, o.name || '/' || c.name as client, r.environment, b.slug as knowledge_base, r.state,
    r.outcome ->> 'decision' as decision, r.outcome ->> 'error_code' as error_code,
    (r.outcome ->> 'result_count')::float8 as results
  from reservations r
  join organizations o on o.id = r.organization_id
  join clients c on c.id = r.client_id
  join knowledge_bases b on b.id = r.knowledge_base_id
  where r.organization_id = $1 and r.client_id = $2 and r.admitted_at >= $3
  order by r.admitted_at desc limit $4`

/** The grounds of abstentions are forgotten after `$1` days. @returns how many were forgotten. */
export const forgetGrounds = changes<[days: number, limit: number]>`
  delete from abstentions where reservation_id in (
    select reservation_id from abstentions where recorded_at < now() - make_interval(days => $1)
    order by recorded_at limit $2)`

/**
 * Forgets Idempotency-Keys and digests of bodies of requests that were admitted at least `$1` days ago. An open request
 * keeps its key, and one without a ledger entry too: its row is in the outbox. The guard of the table allows nothing
 * else. @returns how many keys were forgotten.
 */
export const forgetIdempotencyKeys = changes<[days: number, limit: number]>`
  update reservations set idempotency_digest = null, request_digest = null
  where id in (
    select r.id from reservations as r
    where r.idempotency_digest is not null and r.state <> 'open'
      and r.admitted_at < clock_timestamp() - make_interval(days => $1)
      and not exists (select from ledger_outbox as o where o.reservation_id = r.id)
    order by r.admitted_at limit $2 for update skip locked)`
