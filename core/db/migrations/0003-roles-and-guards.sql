-- Oldest release: 0.2.0
-- One role for each process, the owner of the schema, and guards of versions and of what is active.

-- Roles ----------------------------------------------------------------------------------------------------------
-- Roles belong to the whole cluster, so another database may have created them, or may create them at this moment.

do $$ declare
  name text;
begin
  foreach name in array array['evidence_gateway', 'evidence_jobs', 'evidence_operator', 'evidence_migration'] loop
    if not exists (select from pg_roles where rolname = name) then
      begin
        execute format('create role %I nologin', name);
      exception when duplicate_object or unique_violation then null;
      end;
    end if;
  end loop;
end $$;

-- Sequences of columns follow their table.
grant usage, create on schema public to evidence_migration;
do $$ declare
  change text;
begin
  for change in
    select format('alter table %s owner to evidence_migration', c.oid::regclass) from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v', 'm')
    union all
    select format('alter routine %s owner to evidence_migration', p.oid::regprocedure) from pg_proc p
    where p.pronamespace = 'public'::regnamespace
  loop
    execute change;
  end loop;
end $$;

revoke all on all tables in schema public from evidence_service, evidence_operator;
revoke all on schema public from evidence_service, evidence_operator, public;
-- A database of the cluster that is not migrated yet still needs the role, and drops it later.
do $$ begin
  drop role evidence_service;
exception when dependent_objects_still_exist or insufficient_privilege or undefined_object then null;
end $$;

-- What a migration creates is for nobody until it is granted. Postgres itself grants only functions, to everybody.
alter default privileges for role evidence_migration revoke execute on functions from public;
revoke execute on all functions in schema public from public;

-- Grants ---------------------------------------------------------------------------------------------------------

grant usage on schema public to evidence_gateway, evidence_jobs, evidence_operator;
grant select on schema_migrations to evidence_gateway, evidence_jobs, evidence_operator;

-- The gateway reads what a key may access, and writes reservations and epochs.
grant select (id, client_id, environment, digest, scopes, expires_at, revoked_at) on api_keys to evidence_gateway;
grant select (id, organization_id, active) on clients to evidence_gateway;
grant select (id, active) on organizations to evidence_gateway;
grant select (organization_id, epoch, wrapped) on fingerprint_keys to evidence_gateway;
grant select (id, client_id, environment, knowledge_base_id, plan_id, active, languages, jurisdictions, subjects,
  profile_ids) on entitlements to evidence_gateway;
grant select (id, slug) on knowledge_bases to evidence_gateway;
grant select (id, limits) on plans to evidence_gateway;
grant select (knowledge_base_id, profile_id) on active_versions to evidence_gateway;
grant select (id, knowledge_base_id, state, passages, facets) on corpus_versions to evidence_gateway;
grant select (id, version_id, embedding) on projections to evidence_gateway;
grant select (id, projection_id, parameters, signal, threshold) on retrieval_profiles to evidence_gateway;
grant select (organization_id, knowledge_base_id, released_at) on exposure_releases to evidence_gateway;
grant select, insert, update on limit_epochs to evidence_gateway;
grant insert (id, trace_id, organization_id, client_id, environment, api_key_id, entitlement_id, plan_id,
  knowledge_base_id, version_id, profile_id, idempotency_digest, fingerprint, fingerprint_epoch, admitted_at,
  deadline_at, in_force_on) on reservations to evidence_gateway;
grant select (id, organization_id, client_id, environment, entitlement_id, plan_id, knowledge_base_id,
  idempotency_digest, admitted_at, deadline_at, state, finished_at, outcome, served) on reservations
  to evidence_gateway;
grant update (state, finished_at, outcome, served) on reservations to evidence_gateway;

-- The job worker builds and activates versions, settles overdue reservations and writes the ledger.
grant select on builds, activations to evidence_jobs;
grant update (state, attempt, stage, done, total, error, updated_at) on builds to evidence_jobs;
grant update (state, message, finished_at) on activations to evidence_jobs;
grant select (id, slug) on knowledge_bases to evidence_jobs;
grant select (id, knowledge_base_id, mapping, snapshot_ids) on imports to evidence_jobs;
grant select (id, source_name, media_type, sha256, bytes) on source_snapshots to evidence_jobs;
grant select (id, version_id, verdict, created_at) on reviews to evidence_jobs;
grant select (knowledge_base_id, profile_ids, active, updated_at) on entitlements to evidence_jobs;
grant insert (id, knowledge_base_id, key) on documents to evidence_jobs;
grant insert (id, document_id, snapshot_id, title, published_at, effective_at, effective_to, content_sha256, lineage)
  on revisions to evidence_jobs;
grant select (id) on revisions to evidence_jobs;
grant select on corpus_versions, projections, retrieval_profiles, active_versions to evidence_jobs;
grant insert (id, knowledge_base_id, build_id, passages, documents, facets, evaluation, passed) on corpus_versions
  to evidence_jobs;
grant insert (id, version_id, embedding, manifest_digest) on projections to evidence_jobs;
grant insert (id, projection_id, parameters, signal, threshold) on retrieval_profiles to evidence_jobs;
grant update (state) on corpus_versions to evidence_jobs;
grant insert (knowledge_base_id, version_id, profile_id) on active_versions to evidence_jobs;
grant update (version_id, profile_id, previous_version_id, activated_at) on active_versions to evidence_jobs;
grant insert (actor, action, subject, detail) on audit to evidence_jobs;
grant select (id, limits) on plans to evidence_jobs;
grant select on limit_epochs, ledger_watermark to evidence_jobs;
grant update (epoch) on limit_epochs to evidence_jobs;
grant update (complete_until) on ledger_watermark to evidence_jobs;
grant select (id, trace_id, organization_id, client_id, environment, api_key_id, entitlement_id, plan_id,
  knowledge_base_id, version_id, profile_id, idempotency_digest, fingerprint, fingerprint_epoch, admitted_at,
  deadline_at, state, finished_at, outcome) on reservations to evidence_jobs;
grant update (state, finished_at, outcome) on reservations to evidence_jobs;
grant insert (reservation_id, organization_id, client_id, environment, api_key_id, entitlement_id, plan_id,
  knowledge_base_id, version_id, profile_id, trace_id, fingerprint, fingerprint_epoch, admitted_at, finished_at, state,
  charged, outcome) on ledger to evidence_jobs;
grant select (reservation_id) on ledger to evidence_jobs;

-- The command line manages access and reviews, asks for jobs, and reads what was done.
grant select on organizations, clients, plans, knowledge_bases, entitlements, fingerprint_keys, source_snapshots,
  imports, builds, corpus_versions, projections, retrieval_profiles, reviews, active_versions, activations, ledger,
  exposure_releases, audit to evidence_operator;
grant select (id, client_id, environment, pepper, prefix, scopes, created_at, expires_at, revoked_at) on api_keys
  to evidence_operator;
grant select (organization_id, knowledge_base_id, admitted_at, state, finished_at, served) on reservations
  to evidence_operator;
grant select (organization_id, epoch) on limit_epochs to evidence_operator;
grant insert (id, name) on organizations to evidence_operator;
grant insert (id, organization_id, name) on clients to evidence_operator;
grant insert (id, name, limits) on plans to evidence_operator;
grant insert (id, slug, title) on knowledge_bases to evidence_operator;
grant insert (id, client_id, environment, knowledge_base_id, plan_id, languages, jurisdictions, subjects)
  on entitlements to evidence_operator;
grant insert (id, client_id, environment, digest, pepper, prefix, scopes, expires_at) on api_keys
  to evidence_operator;
grant insert (organization_id, epoch, wrapped) on fingerprint_keys to evidence_operator;
grant insert (id, knowledge_base_id, source_name, media_type, sha256, bytes) on source_snapshots to evidence_operator;
grant insert (id, knowledge_base_id, mapping, snapshot_ids, report) on imports to evidence_operator;
grant insert (id, knowledge_base_id, import_id, parameters) on builds to evidence_operator;
grant insert (id, version_id, verdict, reviewer, note) on reviews to evidence_operator;
grant insert (id, knowledge_base_id, version_id, expected_version_id, kind, actor, override_reason) on activations
  to evidence_operator;
grant insert (id, organization_id, knowledge_base_id) on exposure_releases to evidence_operator;
grant insert (actor, action, subject, detail) on audit to evidence_operator;
grant update (active) on organizations, clients to evidence_operator;
grant update (plan_id, active, languages, jurisdictions, subjects, profile_ids, updated_at) on entitlements
  to evidence_operator;
grant update (revoked_at, expires_at) on api_keys to evidence_operator;
grant update (wrapped, erased_at) on fingerprint_keys to evidence_operator;
grant update (state) on corpus_versions to evidence_operator;
grant update (epoch) on limit_epochs to evidence_operator;

-- Guards ---------------------------------------------------------------------------------------------------------
-- They hold whoever asks, the owner included.

-- A version begins as a candidate and changes nothing but its state, along these transitions.
create function guard_version() returns trigger language plpgsql security definer
  set search_path = public, pg_temp as $$
begin
  if tg_op = 'DELETE' then
    raise exception 'a version is never deleted' using errcode = 'check_violation';
  end if;
  if tg_op = 'INSERT' then
    if new.state <> 'candidate' then
      raise exception 'a version begins as a candidate, not %', new.state using errcode = 'check_violation';
    end if;
    return new;
  end if;
  if new.state <> old.state and (old.state, new.state) not in (
    ('candidate', 'active'), ('candidate', 'rejected'), ('active', 'retired'), ('retired', 'active')
  ) then
    raise exception 'a version that is % never becomes %', old.state, new.state using errcode = 'check_violation';
  end if;
  if new.state = 'active' and old.state <> 'active' and not (new.passed and coalesce((
    select verdict = 'approved' from reviews where version_id = new.id order by created_at desc, id limit 1
  ), false)) then
    raise exception 'a version becomes active only if it passed its evaluation and its newest review approves it'
      using errcode = 'check_violation';
  end if;
  old.state := new.state;
  if new is distinct from old then
    raise exception 'a version changes nothing but its state' using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger guard_version before insert or update or delete on corpus_versions
  for each row execute function guard_version();

-- At commit, the active version of a knowledge base is the one that its pointer names, with a profile of that version.
create function guard_active_version() returns trigger language plpgsql security definer
  set search_path = public, pg_temp as $$
declare
  base uuid := case tg_op when 'DELETE' then old.knowledge_base_id else new.knowledge_base_id end;
begin
  if exists (
    select from active_versions a
    where a.knowledge_base_id = base and not exists (
      select from retrieval_profiles f
      join projections p on p.id = f.projection_id
      join corpus_versions v on v.id = p.version_id
      where f.id = a.profile_id and v.id = a.version_id and v.knowledge_base_id = base and v.state = 'active'
    )
  ) then
    raise exception 'the active version of a knowledge base is in state active and belongs to it, as does its profile'
      using errcode = 'check_violation';
  end if;
  if exists (
    select from corpus_versions v
    where v.knowledge_base_id = base and v.state = 'active' and not exists (
      select from active_versions a where a.knowledge_base_id = base and a.version_id = v.id
    )
  ) then
    raise exception 'a version is in state active only while it is the active version of its knowledge base'
      using errcode = 'check_violation';
  end if;
  if exists (
    select from active_versions a join corpus_versions v on v.id = a.previous_version_id
    where a.knowledge_base_id = base and v.knowledge_base_id <> base
  ) then
    raise exception 'the previous version belongs to the same knowledge base' using errcode = 'check_violation';
  end if;
  return null;
end $$;
create constraint trigger guard_active_version after insert or update or delete on active_versions
  deferrable initially deferred for each row execute function guard_active_version();
create constraint trigger guard_active_version after update of state on corpus_versions
  deferrable initially deferred for each row execute function guard_active_version();
alter function guard_version() owner to evidence_migration;
alter function guard_active_version() owner to evidence_migration;
revoke execute on function guard_version(), guard_active_version() from public;
