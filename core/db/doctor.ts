import { z } from 'zod'
import { oneRowOf, rowsOf, valuesOf } from './rows.ts'

/** Rights that nobody should have: on what never changes, of several roles at once, of a superuser. */
export const excessiveRights = valuesOf(z.string())`
select r.role || ' may ' || p.privilege || ' ' || t.name as finding
from unnest(array['evidence_gateway', 'evidence_jobs', 'evidence_operator', 'evidence_backup']) as r (role),
  unnest(array['audit', 'ledger', 'plans', 'version_chain', 'reviews']) as t (name),
  unnest(array['update', 'delete', 'truncate']) as p (privilege)
where has_table_privilege(r.role, t.name, p.privilege)
union all
select m.rolname || ' has ' || string_agg(g.role, ' and ' order by g.role)
from pg_roles m, unnest(array['evidence_gateway', 'evidence_jobs', 'evidence_operator', 'evidence_backup',
  'evidence_migration']) as g (role)
where m.rolcanlogin and not m.rolsuper and pg_has_role(m.oid, g.role, 'member')
group by m.rolname having count(*) > 1
union all
select 'the operator logs in as ' || rolname || ', a superuser' from pg_roles where rolname = current_user and rolsuper
order by 1`

export const readDatabaseServer = oneRowOf(z.object({ version: z.string(), durable: z.boolean() }))`
  select current_setting('server_version') as version, current_setting('fsync') = 'on'
    and current_setting('full_page_writes') = 'on' and current_setting('synchronous_commit') <> 'off' as durable`

const pepperSchema = z.object({ pepper: z.string(), keys: z.int() })

export const peppersInUse = rowsOf(pepperSchema)`
  select pepper, count(*)::int as keys from api_keys where revoked_at is null and expires_at > now()
  group by pepper order by 1`

const wrappedSchema = z.object({
  organization_id: z.string(),
  name: z.string(),
  epoch: z.int(),
  wrapped: z.instanceof(Buffer),
})

export const newestFingerprintKeys = rowsOf(wrappedSchema)<[limit: number]>`
  select o.id as organization_id, o.name, f.epoch, f.wrapped from organizations o join lateral (
    select epoch, wrapped from fingerprint_keys where organization_id = o.id and wrapped is not null
    order by epoch desc limit 1) f on true
  order by o.name limit $1`

const digestSchema = z.object({ id: z.string(), knowledge_base: z.string(), manifest_digest: z.instanceof(Buffer) })

export const activeDigests = rowsOf(digestSchema)`
  select v.id, k.slug as knowledge_base, v.manifest_digest from active_versions a join corpus_versions v on v.id = a.version_id
  join knowledge_bases k on k.id = v.knowledge_base_id order by k.slug`
