import { z } from 'zod'
import { planLimitsSchema } from '#core/domain/quota-plan.ts'
import { endEpoch } from './limit-epochs.ts'
import type { Queryable } from './pool.ts'

const exposureRow = z.object({
  organization: z.string(),
  knowledge_base: z.string(),
  plan: z.string(),
  limits: planLimitsSchema,
  /** Passages of the active version; null when none is active. */
  corpus_passages: z.int().nullable(),
  /** Distinct passages served within the plan's window and after the last release. */
  distinct_passages: z.number(),
  released_at: z.date().nullable(),
})
export type ExposureRow = z.infer<typeof exposureRow>

/**
 * One row per organization, knowledge base and plan of an entitlement. The window is the plan's; the passages are the
 * organization's. The count is taken from the reservations, which the counters in Redis are also rebuilt from.
 */
const SHOW = `
  with granted as (
    select distinct c.organization_id, e.knowledge_base_id, e.plan_id
    from entitlements e join clients c on c.id = e.client_id
    where ($1::uuid is null or c.organization_id = $1) and ($2::uuid is null or e.knowledge_base_id = $2)
  )
  select o.name as organization, k.slug as knowledge_base, p.name as plan, p.limits, v.passages as corpus_passages,
    released.at as released_at,
    (
      select count(distinct passage ->> 'chunk')::float8
      from reservations r cross join lateral jsonb_array_elements(r.served) as passage
      where r.organization_id = g.organization_id and r.knowledge_base_id = g.knowledge_base_id
      and r.state = 'delivered'
        and r.admitted_at > now() - (p.limits -> 'exposure' ->> 'window_days')::int * interval '1 day'
        and (released.at is null or r.finished_at > released.at)
    ) as distinct_passages
  from granted g
  join organizations o on o.id = g.organization_id
  join knowledge_bases k on k.id = g.knowledge_base_id
  join plans p on p.id = g.plan_id
  left join active_versions a on a.knowledge_base_id = g.knowledge_base_id
  left join corpus_versions v on v.id = a.version_id
  left join lateral (select max(released_at) as at from exposure_releases x where x.organization_id = g.organization_id
    and x.knowledge_base_id = g.knowledge_base_id) released on true
  order by o.name, k.slug, p.name
  limit $3`

const INSERT = 'insert into exposure_releases (id, organization_id, knowledge_base_id) values ($1, $2, $3)'
export async function showExposure(
  database: Queryable,
  organizationId: string | null,
  knowledgeBaseId: string | null,
  limit: number,
): Promise<readonly ExposureRow[]> {
  return z.array(exposureRow).parse((await database.query(SHOW, [organizationId, knowledgeBaseId, limit])).rows)
}

/** Runs inside a transaction. What was served before it no longer counts; the next request has it counted anew. */
export async function insertExposureRelease(
  client: Queryable,
  id: string,
  organizationId: string,
  knowledgeBaseId: string,
): Promise<void> {
  await client.query(INSERT, [id, organizationId, knowledgeBaseId])
  await endEpoch(client, organizationId)
}
