import { z } from 'zod'
import type { KeyEnvironment } from '#core/credentials/api-key.ts'
import type { Queryable } from './pool.ts'
import { changesOne, execute, rowsOf } from './rows.ts'

const entitlementRow = z.object({
  id: z.uuid(),
  organization: z.string(),
  client_id: z.uuid(),
  client: z.string(),
  environment: z.enum(['test', 'live']),
  knowledge_base_id: z.uuid(),
  knowledge_base: z.string(),
  plan_id: z.uuid(),
  plan: z.string(),
  active: z.boolean(),
  languages: z.array(z.string()),
  jurisdictions: z.array(z.string()),
  /** Null allows every subject, and passages without one. */
  subjects: z.array(z.string()).nullable(),
  profile_ids: z.array(z.uuid()),
  /** Whether a chat model may see its questions and the passages that they find. */
  assistance: z.boolean(),
  created_at: z.date(),
  updated_at: z.date(),
})
export type EntitlementRow = z.infer<typeof entitlementRow>

/** Changes of an entitlement; an absent field stays as it is. */
export interface EntitlementChange {
  readonly planId?: string | undefined
  readonly active?: boolean | undefined
  readonly languages?: readonly string[] | undefined
  readonly jurisdictions?: readonly string[] | undefined
  readonly subjects?: readonly string[] | null | undefined
  readonly profileIds?: readonly string[] | undefined
  readonly assistance?: boolean | undefined
}

const ENTITLEMENTS = `
  select e.id, o.name as organization, e.client_id, c.name as client, e.environment, e.knowledge_base_id,
    k.slug as knowledge_base,
    e.plan_id, p.name as plan, e.active, e.languages, e.jurisdictions, e.subjects, e.profile_ids, e.assistance,
    e.created_at, e.updated_at
  from entitlements e
  join clients c on c.id = e.client_id
  join organizations o on o.id = c.organization_id
  join knowledge_bases k on k.id = e.knowledge_base_id
  join plans p on p.id = e.plan_id`

/** @returns false if the client has an entitlement to that knowledge base in that environment. */
export const insertEntitlement = changesOne.named<
  Omit<
    EntitlementRow,
    'organization' | 'client' | 'knowledge_base' | 'plan' | 'active' | 'profile_ids' | `${string}_at`
  >
>`
  insert into entitlements (id, client_id, environment, knowledge_base_id, plan_id, languages, jurisdictions, subjects,
    assistance)
  values (:id, :client_id, :environment, :knowledge_base_id, :plan_id, :languages, :jurisdictions, :subjects,
    :assistance)
  on conflict (client_id, environment, knowledge_base_id) do nothing`

export const listEntitlements = rowsOf(entitlementRow)<
  [clientId: string | null, knowledgeBaseId: string | null, limit: number]
>`
  ${ENTITLEMENTS}
  where ($1::uuid is null or e.client_id = $1) and ($2::uuid is null or e.knowledge_base_id = $2)
  order by o.name, c.name, e.environment, k.slug
  limit $3`

/**
 * By UUID, `client/environment/knowledge-base`, or the same after `organization/`.
 * @returns at most two: more than one means the name is ambiguous.
 */
export const findEntitlements = rowsOf(entitlementRow)<[nameOrId: string]>`
  ${ENTITLEMENTS}
  where e.id::text = lower($1)
    or c.name || '/' || e.environment || '/' || k.slug = $1
    or o.name || '/' || c.name || '/' || e.environment || '/' || k.slug = $1
  order by o.name
  limit 2`

/** Serializes concurrent changes of one entitlement, so that each audit row has the values that it really replaced. */
export const lockEntitlement = execute<[id: string]>`select id from entitlements where id = $1 for update`

const update = execute.named<Required<EntitlementChange> & { readonly id: string; readonly allSubjects: boolean }>`
  update entitlements set
    plan_id = coalesce(:planId, plan_id), active = coalesce(:active, active), languages = coalesce(:languages, languages),
    jurisdictions = coalesce(:jurisdictions, jurisdictions),
    subjects = case when not :allSubjects then coalesce(:subjects, subjects) end,
    profile_ids = coalesce(:profileIds, profile_ids), assistance = coalesce(:assistance, assistance), updated_at = now()
  where id = :id`

export async function updateEntitlement(database: Queryable, id: string, change: EntitlementChange): Promise<void> {
  const { planId, active, languages, jurisdictions, subjects, profileIds, assistance } = change
  const lists = { languages, jurisdictions, subjects, profileIds }
  await update(database, { id, planId, active, ...lists, assistance, allSubjects: subjects === null })
}

/** Whether the client has any entitlement in the environment, active or not. */
export const clientHasEntitlement = changesOne<[clientId: string, environment: KeyEnvironment]>`
  select id from entitlements where client_id = $1 and environment = $2 limit 1`

/**
 * Gateways serve a profile only after its version was active. Whether gateways would serve the profile for that
 * knowledge base.
 */
export const profileServable = changesOne<[profileId: string, knowledgeBaseId: string]>`
  select id from corpus_versions
  where profile_id = $1 and knowledge_base_id = $2 and state in ('active', 'retired')`
