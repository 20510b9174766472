import { z } from 'zod'
import { rowOf, rowsOf } from './rows.ts'

const backlogSchema = z.object({
  ledger_entries: z.int(),
  ledger_age_seconds: z.number(),
  /** Since the newest backup; where there is none, since the schema was made. */
  backup_age_seconds: z.number(),
  lock_waits: z.int(),
  database_bytes: z.number(),
})
export type Backlog = z.infer<typeof backlogSchema>

/**
 * What waits in Postgres, and what it takes. A lock that waits shows to every role; whose statement it is, only to its
 * owner.
 */
export const readBacklog = rowOf(backlogSchema)`
  select (select count(*) from ledger_outbox)::int as ledger_entries,
    (select coalesce(extract(epoch from clock_timestamp() - min(added_at)), 0) from ledger_outbox)::float8 as ledger_age_seconds,
    extract(epoch from clock_timestamp() - coalesce(
      (select at from audit where action = 'backup.create' order by seq desc limit 1),
      (select min(applied_at) from schema_migrations)))::float8 as backup_age_seconds,
    (select count(*) from pg_locks where not granted)::int as lock_waits,
    pg_database_size(current_database())::float8 as database_bytes`

const activeSchema = z.object({
  knowledge_base: z.string(),
  version_id: z.string(),
  age_seconds: z.number(),
  passages: z.int(),
})

export const readActive = rowsOf(activeSchema)<[limit: number]>`
  select k.slug as knowledge_base, a.version_id, extract(epoch from now() - a.activated_at)::float8 as age_seconds,
    v.passages
  from active_versions a join knowledge_bases k on k.id = a.knowledge_base_id join corpus_versions v on v.id = a.version_id
  order by k.slug limit $1`

const overviewSchema = z.object({
  knowledge_base: z.string(),
  active: z.string().nullable(),
  activated_at: z.date().nullable(),
  passages: z.int().nullable(),
  candidates: z.int(),
  stale_candidates: z.int(),
  builds: z.int(),
  last_capture_at: z.date().nullable(),
  failing_sources: z.int(),
})

/**
 * Every knowledge base with what is active, what waits, and its sources; a stale candidate was compared with another
 * version.
 */
export const readOverview = rowsOf(overviewSchema)<[limit: number]>`
  select k.slug as knowledge_base, a.version_id as active, a.activated_at, v.passages,
    (select count(*)::int from corpus_versions c where c.knowledge_base_id = k.id and c.state = 'candidate' and c.passed
      and c.evaluation -> 'comparison' ->> 'version_id' is not distinct from a.version_id::text) as candidates,
    (select count(*)::int from corpus_versions c where c.knowledge_base_id = k.id and c.state = 'candidate'
      and (a.activated_at is null or c.created_at > a.activated_at - interval '30 days')
      and c.evaluation -> 'comparison' ->> 'version_id' is distinct from a.version_id::text) as stale_candidates,
    (select count(*)::int from builds b where b.knowledge_base_id = k.id and b.state in ('queued', 'running', 'retrying'))
      as builds,
    s.last_capture_at, coalesce(s.failing, 0)::int as failing_sources
  from knowledge_bases k
  left join active_versions a on a.knowledge_base_id = k.id
  left join corpus_versions v on v.id = a.version_id
  left join lateral (
    select max(l.captured_at) as last_capture_at, count(*) filter (where l.outcome = 'failed') as failing
    from sources s left join lateral (
      select captured_at, outcome from captures where source_id = s.id order by id desc limit 1) l on true
    where s.knowledge_base_id = k.id and s.removed_at is null) s on true
  order by k.slug limit $1`

const namedSchema = z.object({
  entitlement_id: z.string(),
  client: z.string(),
  environment: z.string(),
  knowledge_base: z.string(),
})

export const nameEntitlements = rowsOf(namedSchema)<[ids: readonly string[]]>`
  select e.id as entitlement_id, o.name || '/' || c.name as client, e.environment, k.slug as knowledge_base
  from entitlements e join clients c on c.id = e.client_id join organizations o on o.id = c.organization_id
  join knowledge_bases k on k.id = e.knowledge_base_id
  where e.id = any($1)`
