import { z } from 'zod'
import { ROLLBACK_PATH } from './activation-history.ts'
import { rowsOf, valuesOf } from './rows.ts'

/** Days for which files stay that nothing needs. */
export interface RetentionRules {
  /** Since a version was retired or rejected, or was built and never approved. */
  readonly versionDays: number
  /** Since a request that it served, as the ledger has it. */
  readonly ledgerDays: number
  readonly snapshotDays: number
}

const disposableVersion = z.object({
  id: z.uuid(),
  /** Slug. */
  knowledge_base: z.string(),
  state: z.enum(['candidate', 'retired', 'rejected']),
})

/**
 * Versions whose files may go. Those stay that are active or on the rollback path, that an activation is queued for,
 * that an entitlement names, that a public trace contains, that the ledger refers to, and candidates that somebody
 * approved. Only the one that is named; null: any. Oldest first.
 */
export const disposableVersions = rowsOf(disposableVersion).named<
  RetentionRules & { readonly versionId: string | null; readonly limit: number }
>`
with recursive ${ROLLBACK_PATH}
select v.id, k.slug as knowledge_base, v.state
from corpus_versions v join knowledge_bases k on k.id = v.knowledge_base_id
where v.state <> 'active' and (:versionId::uuid is null or v.id = :versionId)
  and v.created_at < now() - make_interval(days => :versionDays)
  and not exists (select from reviews r where r.version_id = v.id
    and (r.created_at > now() - make_interval(days => :versionDays) or (v.state = 'candidate' and r.verdict = 'approved')))
  and not exists (select from activations a where (a.version_id = v.id or a.expected_version_id = v.id)
    and (a.state = 'queued' or a.finished_at > now() - make_interval(days => :versionDays)))
  and not exists (select from active_versions a where v.id in (a.version_id, a.previous_version_id))
  and v.id not in (select version_id from rollback_path)
  and not exists (select from entitlements e where v.profile_id = any (e.profile_ids))
  and not (k.traced and exists (select from activations a where a.version_id = v.id and a.sequence is not null))
  and not exists (select from ledger l where l.version_id = v.id and l.admitted_at > now() - make_interval(days => :ledgerDays))
order by v.created_at, v.id limit :limit`

/**
 * SHA-256 of captured sources and question sets that no import needs which is recent, is being built, may be built
 * again, or made a version that stays (files of `goneVersions` went or go), and that are no last good capture of a
 * source. Files that the database does not know stay.
 */
export const disposableSnapshots = valuesOf(z.string()).named<
  RetentionRules & { readonly goneVersions: readonly string[]; readonly limit: number }
>`
with kept_builds as (
  select b.id, b.import_id, b.parameters from builds b left join corpus_versions v on v.build_id = b.id
  where b.state in ('queued', 'running', 'retrying') or b.updated_at > now() - make_interval(days => :snapshotDays)
    or (v.id is not null and not v.id = any (:goneVersions::uuid[]))
), kept_imports as (
  select i.snapshot_ids from imports i
  where i.created_at > now() - make_interval(days => :snapshotDays) or i.id in (select import_id from kept_builds)
), kept as (
  select s.sha256 from kept_imports i cross join lateral unnest(i.snapshot_ids) as one (id)
  join source_snapshots s on s.id = one.id
  union
  select decode(b.parameters ->> name, 'hex') from kept_builds b
  cross join unnest(array['questions_sha256', 'search_questions_sha256']) as name where b.parameters ? name
  union
  select decode(file ->> 'sha256', 'hex') from sources s
  cross join lateral (
    select c.files from captures c where c.source_id = s.id and c.outcome <> 'failed' order by c.id desc limit 1) good
  cross join jsonb_array_elements(good.files) as file where s.removed_at is null
), known as (
  select s.sha256, max(s.captured_at) as at from source_snapshots s group by s.sha256
  union all
  select decode(file ->> 'sha256', 'hex'), c.captured_at
  from captures c cross join jsonb_array_elements(c.files) as file where c.outcome <> 'unchanged' and c.files is not null
  union all
  select decode(b.parameters ->> name, 'hex'), b.created_at from builds b
  cross join unnest(array['questions_sha256', 'search_questions_sha256']) as name where b.parameters ? name
)
select encode(sha256, 'hex') as sha256 from known group by sha256
having max(at) < now() - make_interval(days => :snapshotDays) and not exists (select from kept where kept.sha256 = known.sha256)
order by sha256 limit :limit`
