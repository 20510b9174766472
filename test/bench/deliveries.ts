import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { inTransaction } from '#core/db/pool.ts'
import type { Database } from '#core/db/pool.ts'
import { planLimitsSchema } from '#core/domain/quota-plan.ts'
import type { PlanLimits } from '#core/domain/quota-plan.ts'

/** An organization with one plan and its entitlements, each of another client or knowledge base. */
export interface Tenant {
  readonly organizationId: string
  readonly planId: string
  readonly limits: PlanLimits
  readonly entitlements: readonly TenantEntitlement[]
}

export interface TenantEntitlement {
  readonly clientId: string
  readonly entitlementId: string
  readonly knowledgeBaseId: string
}

/** A rate and a concurrency that never refuse; everything else as in the plan that nobody set. */
const LIMITS = planLimitsSchema.parse({
  requests_per_minute: 1_000_000,
  concurrency: 10_000,
  requests_per_day: 1_000_000,
  requests_per_month: 1_000_000,
})

const INSERT_TENANT = `
  with organization as (insert into organizations (id, name) values ($1::uuid, $1::uuid::text)),
    plan as (insert into plans (id, name, limits) values ($2::uuid, $2::uuid::text, $3)),
    clients as (insert into clients (id, organization_id, name)
      select id, $1, id::text from (select gen_random_uuid() as id from generate_series(1, $4)) as drawn
      returning id),
    bases as (insert into knowledge_bases (id, slug, title)
      select id, 'r-' || id, 'Rebuilt' from (select gen_random_uuid() as id from generate_series(1, $5)) as drawn
      returning id)
  insert into entitlements (id, client_id, environment, knowledge_base_id, plan_id, languages, jurisdictions)
  select gen_random_uuid(), c.id, 'live', b.id, $2, '{en}', '{XA}' from clients as c cross join bases as b
  returning id, client_id, knowledge_base_id`

const entitlementRow = z
  .object({ id: z.string(), client_id: z.string(), knowledge_base_id: z.string() })
  .transform(({ id, client_id, knowledge_base_id }): TenantEntitlement => ({
    entitlementId: id,
    clientId: client_id,
    knowledgeBaseId: knowledge_base_id,
  }))

export async function createTenant(owner: Database, clients: number, knowledgeBases: number): Promise<Tenant> {
  const [organizationId, planId] = [randomUUID(), randomUUID()]
  const { rows } = await owner.query(INSERT_TENANT, [
    organizationId,
    planId,
    JSON.stringify(LIMITS),
    clients,
    knowledgeBases,
  ])
  return { organizationId, planId, limits: LIMITS, entitlements: z.array(entitlementRow).parse(rows) }
}

/** Passages of one delivery, as many as the default plan allows. */
const PASSAGES = 5
/** Of each knowledge base; the hard mark of the default plan is at 20,000. */
export const CORPUS_PASSAGES = 100_000
/** Of a knowledge base, more than the hard mark; passages are served as often as others of them. */
const SERVED_PASSAGES = 25_000
const PASSAGES_PER_DOCUMENT = 20
/** Nearly all of the default window. */
const DAYS = 29

/**
 * Settled deliveries of one month, spread over the entitlements and the days. A row begins open unless the triggers are
 * off, so they are. One row at a time is a function of its number.
 */
const INSERT_DELIVERIES = `
  with held as (
    select row_number() over (order by e.id) - 1 as at, count(*) over () as held, e.id, e.client_id,
      e.knowledge_base_id, e.plan_id
    from entitlements as e join clients as c on c.id = e.client_id where c.organization_id = $1
  ), request as (
    select n, clock_timestamp() - (${DAYS} * n / $2::float8) * interval '1 day' as admitted_at,
      md5($1::text || n)::uuid as id
    from generate_series(1, $2::int) as n
  )
  insert into reservations (id, trace_id, organization_id, client_id, environment, api_key_id, entitlement_id, plan_id,
    knowledge_base_id, version_id, fingerprint, fingerprint_epoch, admitted_at, deadline_at, in_force_on,
    state, finished_at, outcome, served, filters, replay)
  select r.id, r.id, $1, h.client_id, 'live', h.client_id, h.id, h.plan_id, h.knowledge_base_id, h.knowledge_base_id,
    sha256(r.id::text::bytea), 1, r.admitted_at, r.admitted_at + interval '20 seconds',
    r.admitted_at::date, 'delivered', r.admitted_at + interval '100 milliseconds',
    jsonb_build_object('decision', 'answer', 'result_count', ${PASSAGES}, 'response_bytes', 9000, 'top_k', ${PASSAGES},
      'chunk_ids', served.chunks, 'reply_sha256', repeat('a', 64)),
    served.passages, '{"languages": ["en"], "jurisdictions": ["XA"]}', jsonb_build_object('rerank_order', null,
      'query_vector_digest', repeat(md5(r.id::text), 2), 'passage_sha256', served.digests)
  from request as r join held as h on h.at = r.n % h.held
  cross join lateral (
    select jsonb_agg(p.chunk) as chunks, jsonb_agg(repeat(md5(p.chunk), 2)) as digests,
      jsonb_agg(jsonb_build_object('chunk', p.chunk, 'document', p.document,
      'total', ${PASSAGES_PER_DOCUMENT}))
      as passages
    from (
      select row, 'chk_' || left(md5(h.knowledge_base_id::text || row) || md5(row::text), 40) as chunk,
        md5(h.knowledge_base_id::text || row / ${PASSAGES_PER_DOCUMENT})::uuid as document
      from (select mod(abs(hashint8(r.n::bigint * ${PASSAGES} + k)::bigint), ${SERVED_PASSAGES}) as row
        from generate_series(1, ${PASSAGES}) as k) as drawn
    ) as p
  ) as served`

export async function insertDeliveries(owner: Database, tenant: Tenant, deliveries: number): Promise<void> {
  await inTransaction(owner, async (client) => {
    await client.query('set local session_replication_role = replica')
    await client.query("set local statement_timeout = '10min'")
    await client.query(INSERT_DELIVERIES, [tenant.organizationId, deliveries])
  })
}
