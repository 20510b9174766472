import { z } from 'zod'
import type { ServedPassage } from '#core/domain/exposure.ts'
import { planLimitsSchema } from '#core/domain/quota-plan.ts'
import { endEpoch } from './limit-epochs.ts'
import type { Queryable } from './pool.ts'
import { readRows } from './rows.ts'

const grantRow = z.object({
  organization_id: z.string(),
  organization: z.string(),
  knowledge_base_id: z.string(),
  knowledge_base: z.string(),
  environment: z.enum(['test', 'live']),
  plan: z.string(),
  limits: planLimitsSchema,
  /** Passages of the active version; null when none is active. */
  corpus_passages: z.int().nullable(),
  exposure_allowance: z.number(),
  released_at: z.date().nullable(),
})
export type ExposureGrant = z.infer<typeof grantRow>

/** One row per organization, knowledge base, environment and plan of an entitlement, with what operators decided. */
const GRANTS = `
  with granted as (
    select distinct c.organization_id, e.knowledge_base_id, e.environment, e.plan_id
    from entitlements e join clients c on c.id = e.client_id
    where ($1::uuid is null or c.organization_id = $1) and ($2::uuid is null or e.knowledge_base_id = $2)
      and ($3::text is null or e.environment = $3)
  )
  select g.organization_id, o.name as organization, g.knowledge_base_id, k.slug as knowledge_base, g.environment,
    p.name as plan, p.limits, v.passages as corpus_passages, (
      select coalesce(sum(x.passages), 0)::float8 from exposure_raises x where x.organization_id = g.organization_id
        and x.knowledge_base_id = g.knowledge_base_id and x.environment = g.environment and x.expires_at > now()
    ) as exposure_allowance, (
      select max(x.released_at) from exposure_releases x where x.organization_id = g.organization_id
        and x.knowledge_base_id = g.knowledge_base_id and x.environment = g.environment
    ) as released_at
  from granted g
  join organizations o on o.id = g.organization_id
  join knowledge_bases k on k.id = g.knowledge_base_id
  join plans p on p.id = g.plan_id
  left join active_versions a on a.knowledge_base_id = g.knowledge_base_id
  left join corpus_versions v on v.id = a.version_id
  order by o.name, k.slug, g.environment, p.name
  limit $4`

export interface ExposureScope {
  readonly organizationId: string | null
  readonly knowledgeBaseId: string | null
  readonly environment: 'test' | 'live' | null
}

export function exposureGrants(
  database: Queryable,
  { organizationId, knowledgeBaseId, environment }: ExposureScope,
  limit: number,
): Promise<readonly ExposureGrant[]> {
  return readRows(database, grantRow, GRANTS, [organizationId, knowledgeBaseId, environment, limit])
}

/** What an operator decides about. */
export interface ExposureSubject {
  readonly organizationId: string
  readonly knowledgeBaseId: string
  readonly environment: 'test' | 'live'
}

const RELEASE = `
  insert into exposure_releases (id, organization_id, knowledge_base_id, environment) values ($1, $2, $3, $4)`

/** Runs inside a transaction. What was served before it no longer counts; the next request has it counted anew. */
export async function insertExposureRelease(
  client: Queryable,
  id: string,
  { organizationId, knowledgeBaseId, environment }: ExposureSubject,
): Promise<void> {
  await client.query(RELEASE, [id, organizationId, knowledgeBaseId, environment])
  await endEpoch(client, organizationId)
}

const RAISE = `
  insert into exposure_raises (id, organization_id, knowledge_base_id, environment, passages, expires_at)
  values ($1, $2, $3, $4, $5, $6)`

/** Gateways read it with the access of a key. */
export async function insertExposureRaise(
  client: Queryable,
  id: string,
  { organizationId, knowledgeBaseId, environment }: ExposureSubject,
  raise: { readonly passages: number; readonly until: Date },
): Promise<void> {
  await client.query(RAISE, [id, organizationId, knowledgeBaseId, environment, raise.passages, raise.until])
}

const SHOW = `
  insert into shown_passages (id, organization_id, knowledge_base_id, environment, passages)
  values (gen_random_uuid(), $1, $2, $3, $4)`

/** Runs inside a transaction. What a page shows counts like what a gateway serves, from the next request on. */
export async function insertShownPassages(
  client: Queryable,
  { organizationId, knowledgeBaseId, environment }: ExposureSubject,
  passages: readonly ServedPassage[],
): Promise<void> {
  await client.query(SHOW, [organizationId, knowledgeBaseId, environment, JSON.stringify(passages)])
  await endEpoch(client, organizationId)
}
