import { z } from 'zod'
import type { ServedPassage } from '#core/domain/exposure.ts'
import { planLimitsSchema } from '#core/domain/quota-plan.ts'
import { endEpoch } from './limit-epochs.ts'
import type { Queryable } from './pool.ts'
import { execute, rowsOf } from './rows.ts'

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

/** Null: any. */
export type ExposureScope = { readonly [K in keyof ExposureSubject]: ExposureSubject[K] | null }

/** One row per organization, knowledge base, environment and plan of an entitlement, with what operators decided. */
export const exposureGrants = rowsOf(grantRow).named<ExposureScope & { readonly limit: number }>`
  with granted as (
    select distinct c.organization_id, e.knowledge_base_id, e.environment, e.plan_id
    from entitlements e join clients c on c.id = e.client_id
    where (:organizationId::uuid is null or c.organization_id = :organizationId)
      and (:knowledgeBaseId::uuid is null or e.knowledge_base_id = :knowledgeBaseId)
      and (:environment::text is null or e.environment = :environment)
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
  limit :limit`

/** What an operator decides about. */
export interface ExposureSubject {
  readonly organizationId: string
  readonly knowledgeBaseId: string
  readonly environment: 'test' | 'live'
}

const SUBJECT = 'organization_id, knowledge_base_id, environment'
const OF_SUBJECT = ':organizationId, :knowledgeBaseId, :environment'
const release = execute.named<ExposureSubject & { readonly id: string }>`
  insert into exposure_releases (id, ${SUBJECT}) values (:id, ${OF_SUBJECT})`

/** Runs inside a transaction. What was served before it no longer counts; the next request has it counted anew. */
export async function insertExposureRelease(client: Queryable, id: string, subject: ExposureSubject): Promise<void> {
  await release(client, { id, ...subject })
  await endEpoch(client, subject.organizationId)
}

/** Gateways read it with the access of a key. */
export const insertExposureRaise = execute.named<
  ExposureSubject & { readonly id: string; readonly passages: number; readonly until: Date }
>`
  insert into exposure_raises (id, ${SUBJECT}, passages, expires_at) values (:id, ${OF_SUBJECT}, :passages, :until)`

const show = execute.named<ExposureSubject & { readonly passages: readonly ServedPassage[] }>`
  insert into shown_passages (id, ${SUBJECT}, passages) values (gen_random_uuid(), ${OF_SUBJECT}, :passages::jsonb)`

/** Runs inside a transaction. What a page shows counts like what a gateway serves, from the next request on. */
export async function insertShownPassages(
  client: Queryable,
  subject: ExposureSubject,
  passages: readonly ServedPassage[],
): Promise<void> {
  await show(client, { ...subject, passages })
  await endEpoch(client, subject.organizationId)
}
