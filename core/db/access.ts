import { z } from 'zod'
import { createDigestSet, type DigestSet } from '#core/credentials/digest-set.ts'
import { facetsSchema } from '#core/index/facets/layout.ts'
import { embeddingSpaceSchema } from '#core/index/format/manifest.ts'
import { planLimitsSchema } from '#core/domain/quota-plan.ts'
import { profileParametersSchema } from '#core/domain/retrieval-profile.ts'
import type { Queryable } from './pool.ts'
import { execute, rowOf, rowsOf, valueOf } from './rows.ts'
import { withdrawalInForceSchema } from './withdrawals.ts'

const profileSchema = z.object({
  id: z.string(),
  version_id: z.string(),
  /** The artifact that the version is served from: the SHA-256 of its manifest, in hexadecimal digits. */
  projection: z.string(),
  passages: z.number(),
  facets: facetsSchema,
  /** Null for a version without vectors. */
  embedding: embeddingSpaceSchema.nullable(),
  parameters: profileParametersSchema,
  /** What is withdrawn of the version, as `core/domain/search.ts` describes it. */
  withdrawn: z.array(withdrawalInForceSchema),
})
export type ServingProfile = z.infer<typeof profileSchema>

const entitlementSchema = z.object({
  id: z.string(),
  active: z.boolean(),
  knowledge_base_id: z.string(),
  knowledge_base: z.string(),
  languages: z.array(z.string()),
  jurisdictions: z.array(z.string()),
  /** Null allows every subject. */
  subjects: z.array(z.string()).nullable(),
  plan_id: z.string(),
  limits: planLimitsSchema,
  /** Passages that an operator allows beyond the marks of the exposure. */
  exposure_allowance: z.number(),
  /** Whether a chat model may see questions and passages. */
  assistance: z.boolean(),
  /** null while the knowledge base has no active version. */
  active_profile: profileSchema.nullable(),
  /** Profiles of this knowledge base that the entitlement names. */
  profiles: z.array(profileSchema),
})
export type Entitlement = z.infer<typeof entitlementSchema>

const accessSchema = z.object({
  api_key_id: z.string(),
  client_id: z.string(),
  client: z.string(),
  organization_id: z.string(),
  environment: z.enum(['test', 'live']),
  scopes: z.array(z.string()),
  expires_at: z.date(),
  revoked_at: z.date().nullable(),
  entitlements: z.array(entitlementSchema),
  fingerprint_epoch: z.number().nullable(),
  fingerprint_wrapped: z.instanceof(Buffer).nullable(),
})
/** Everything that one API key may access, as one statement read it. */
export type Access = z.infer<typeof accessSchema>

const PROFILE = `json_build_object('id', v.profile_id, 'version_id', v.id, 'passages', v.passages,
  'projection', encode(v.manifest_digest, 'hex'), 'facets', v.facets, 'embedding', v.embedding, 'parameters', v.profile, 'withdrawn', coalesce((
    select json_agg(json_build_object('id', w.id, 'document', w.document_id, 'provisions', w.provisions,
      'chunk_id', w.chunk_id) order by w.id)
    from withdrawals as w where w.knowledge_base_id = v.knowledge_base_id and w.restored_at is null
      and not v.withdrawals_decided @> array[w.id]), '[]'::json))`

/**
 * One statement reads one snapshot. Key, client, organization, entitlements with plan and profiles, and the fingerprint
 * key are therefore consistent.
 * @param digests of one key, one for each pepper in use.
 */
export const readAccess = rowOf(accessSchema, 'read-access')<[digests: readonly Buffer[]]>`
  select k.id as api_key_id, k.client_id, c.name as client, c.organization_id, k.environment, k.scopes, k.expires_at, k.revoked_at,
    f.epoch as fingerprint_epoch, f.wrapped as fingerprint_wrapped,
    coalesce((
      select json_agg(json_build_object('id', e.id, 'active', e.active and c.active and o.active, 'knowledge_base_id',
      b.id, 'knowledge_base', b.slug,
        'languages', e.languages, 'jurisdictions', e.jurisdictions, 'subjects', e.subjects, 'plan_id', l.id, 'limits',
        l.limits, 'assistance', e.assistance,
        'exposure_allowance', coalesce((
          select sum(x.passages) from exposure_raises as x
          where x.organization_id = c.organization_id and x.knowledge_base_id = b.id
            and x.environment = e.environment and x.expires_at > now()), 0),
        'active_profile', (
          select ${PROFILE} from active_versions as a
          join corpus_versions as v on v.id = a.version_id
          where a.knowledge_base_id = b.id),
        'profiles', coalesce((
          select json_agg(${PROFILE}) from corpus_versions as v
          where v.profile_id = any(e.profile_ids) and v.knowledge_base_id = b.id and v.state in ('active', 'retired')),
          '[]'::json)))
      from entitlements as e join knowledge_bases as b on b.id = e.knowledge_base_id join plans as l on l.id = e.plan_id
      where e.client_id = k.client_id and e.environment = k.environment), '[]'::json) as entitlements
  from api_keys as k join clients as c on c.id = k.client_id join organizations as o on o.id = c.organization_id
  left join lateral (
    select epoch, wrapped from fingerprint_keys where organization_id = c.organization_id and wrapped is not null
    order by epoch desc limit 1) as f on true
  where k.digest = any($1)`

/**
 * Keys that may still be valid. They are read at most every few seconds, and only while an address sends too many
 * invalid keys. One value holds all digests, because a row for each would block the event loop.
 */
const validDigests = valueOf(z.instanceof(Buffer))<[environment: string, limit: number]>`
  select coalesce(string_agg(digest, ''::bytea order by digest), ''::bytea) as digests from (
    select digest from api_keys where environment = $1 and revoked_at is null and expires_at > now() limit $2
  ) as valid`

const servedSchema = z.object({
  knowledge_base: z.string(),
  /** Null: none is active. */
  version_id: z.string().nullable(),
  embedding: z.boolean(),
  rewriter: z.boolean(),
  reader: z.boolean(),
})
export type ServedKnowledgeBase = z.infer<typeof servedSchema>
/** Kinds of models that active versions are served with. */
export type ModelNeeds = Pick<ServedKnowledgeBase, 'embedding' | 'rewriter' | 'reader'>

/**
 * Knowledge bases that callers may ask, with what their active versions need of every gateway. A stored profile without
 * a rewriter may say so or not.
 */
export const readServed = rowsOf(servedSchema)`
  select k.slug as knowledge_base, a.version_id, v.embedding is not null as embedding,
    coalesce(jsonb_typeof(v.profile -> 'rewriter') = 'object', false) as rewriter,
    coalesce(jsonb_typeof(v.profile -> 'reader') = 'object', false) as reader
  from knowledge_bases as k
  left join active_versions as a on a.knowledge_base_id = k.id
  left join corpus_versions as v on v.id = a.version_id
  where a.version_id is not null
    or exists (select from entitlements as e where e.knowledge_base_id = k.id and e.active)
  order by k.slug`

/** Keys that expire within the days, and whose client has no later one. */
export const countExpiringKeys = valueOf(z.int())<[environment: string, days: number]>`
  select count(*)::int as count from api_keys as k
  where k.environment = $1 and k.revoked_at is null and k.expires_at between now() and now() + make_interval(days => $2)
    and not exists (select from api_keys as n where n.client_id = k.client_id and n.environment = k.environment
      and n.revoked_at is null and n.expires_at > k.expires_at)`

/**
 * The triggers of the access tables notify on this channel; it carries no payload. The connection stays open, and each
 * notification on it means that some access changed.
 */
export const listenForAccessChanges = execute`listen access_changed`

export async function readValidDigests(database: Queryable, environment: string, limit: number): Promise<DigestSet> {
  return createDigestSet(await validDigests(database, environment, limit))
}
