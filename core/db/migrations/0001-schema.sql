-- Oldest release: 0.2.0
-- The whole schema: roles, tables with their guards, functions, grants. A guard is a trigger; it holds for every role,
-- the owner included. An applied migration never changes: what follows is a migration of its own.

-- Roles ----------------------------------------------------------------------------------------------------------
-- One role for each process, and the owner of the schema. Roles belong to the whole cluster, so another database may
-- have created them, or may create them at this moment.

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

revoke all on schema public from public;
grant usage, create on schema public to evidence_migration;
grant usage on schema public to evidence_gateway, evidence_jobs, evidence_operator;

-- The two records of applied migrations exist already. Whatever follows is created by its owner.
alter table schema_migrations owner to evidence_migration;
alter table pgmigrations owner to evidence_migration;
set local role evidence_migration;

-- What a migration creates is for nobody until it is granted. Postgres itself grants only functions, to everybody.
alter default privileges for role evidence_migration revoke execute on functions from public;

-- Access ---------------------------------------------------------------------------------------------------------

create table organizations (
  id uuid primary key,
  name text not null unique check (length(name) between 1 and 200),
  active boolean not null default true,
  created_at timestamptz not null default now()
);

create table clients (
  id uuid primary key,
  organization_id uuid not null references organizations,
  name text not null check (length(name) between 1 and 200),
  active boolean not null default true,
  created_at timestamptz not null default now(),
  unique (organization_id, name)
);

create table plans (
  id uuid primary key,
  name text not null unique check (length(name) between 1 and 200),
  limits jsonb not null,
  created_at timestamptz not null default now()
);

create table knowledge_bases (
  id uuid primary key,
  slug text not null unique check (slug ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
  title text not null,
  traced boolean not null default false, -- whether activations extend the public trace
  created_at timestamptz not null default now()
);

create table entitlements (
  id uuid primary key,
  client_id uuid not null references clients,
  environment text not null check (environment in ('test', 'live')),
  knowledge_base_id uuid not null references knowledge_bases,
  plan_id uuid not null references plans,
  active boolean not null default true,
  languages text[] not null check (cardinality(languages) > 0),
  jurisdictions text[] not null check (cardinality(jurisdictions) > 0),
  subjects text[] check (cardinality(subjects) > 0), -- null: every subject, and passages without one
  profile_ids uuid[] not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (client_id, environment, knowledge_base_id)
);

create table api_keys (
  id uuid primary key,
  client_id uuid not null references clients,
  environment text not null check (environment in ('test', 'live')),
  digest bytea not null unique check (octet_length(digest) = 32),
  pepper text not null,
  prefix text not null,
  scopes text[] not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  revoked_at timestamptz
);

create table fingerprint_keys (
  organization_id uuid not null references organizations,
  epoch integer not null check (epoch > 0),
  wrapped bytea, -- null once erased
  created_at timestamptz not null default now(),
  erased_at timestamptz,
  primary key (organization_id, epoch)
);

-- Imports and builds ---------------------------------------------------------------------------------------------

create table source_snapshots (
  id uuid primary key,
  knowledge_base_id uuid not null references knowledge_bases,
  source_name text not null,
  media_type text not null,
  sha256 bytea not null check (octet_length(sha256) = 32),
  bytes bigint not null check (bytes >= 0),
  captured_at timestamptz not null default now(),
  captured_by text not null default 'operator import', -- the command
  unique (knowledge_base_id, source_name, sha256)
);

-- Where files of law are captured from, again and again. A removed one keeps its captures.
create table sources (
  id uuid primary key,
  knowledge_base_id uuid not null references knowledge_bases,
  name text not null,
  location text not null, -- a path, or an address
  mapping json, -- null: as the source.yaml of the folder says at each capture
  hosts text[] not null check (cardinality(hosts) <= 100),
  private boolean not null,
  every_minutes integer check (every_minutes between 5 and 525600),
  created_at timestamptz not null default now(),
  removed_at timestamptz
);
create unique index sources_name on sources (knowledge_base_id, name) where removed_at is null;

create table captures (
  id bigint generated always as identity primary key,
  source_id uuid not null references sources,
  outcome text not null check (outcome in ('changed', 'unchanged', 'failed')),
  message text check (octet_length(message) <= 8000),
  files jsonb,
  captured_at timestamptz not null default now(),
  -- A bad capture has the files that were kept of it.
  check (outcome = 'failed' or files is not null)
);
create index captures_source on captures (source_id, id desc);

create table imports (
  id uuid primary key,
  knowledge_base_id uuid not null references knowledge_bases,
  mapping json not null, -- json, not jsonb: the order of its named values matters
  snapshot_ids uuid[] not null check (cardinality(snapshot_ids) > 0),
  report jsonb not null,
  created_at timestamptz not null default now()
);

create table documents (
  id uuid primary key,
  knowledge_base_id uuid not null references knowledge_bases,
  key text not null,
  unique (knowledge_base_id, key)
);

create table revisions (
  id uuid primary key,
  document_id uuid not null references documents,
  snapshot_id uuid not null references source_snapshots,
  title text not null,
  published_at timestamptz not null,
  effective_at timestamptz not null,
  effective_to timestamptz,
  content_sha256 bytea not null,
  lineage jsonb not null -- which fields were derived, by which rule
);

create table builds (
  id uuid primary key,
  knowledge_base_id uuid not null references knowledge_bases,
  import_id uuid not null references imports,
  parameters jsonb not null,
  -- The actor as the operator named it, and the login, which Postgres vouches for.
  started_by text not null,
  started_login text not null default session_user,
  state text not null default 'queued' check (state in ('queued', 'running', 'retrying', 'succeeded', 'failed')),
  attempt integer not null default 0,
  stage text,
  done bigint not null default 0,
  total bigint not null default 0,
  -- What the embed stage has sent to the provider, and how long it will take.
  embedding jsonb check (octet_length(embedding::text) <= 1024),
  -- Why the last run ended without a candidate.
  error text,
  -- Runs that ended without a candidate since the build was asked for, and those of them that ran out of memory or
  -- whose worker gave no sign.
  failed_runs integer not null default 0 check (failed_runs >= 0),
  out_of_memory_runs integer not null default 0 check (out_of_memory_runs between 0 and failed_runs),
  lost_runs integer not null default 0 check (lost_runs between 0 and failed_runs),
  next_attempt_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint builds_next_attempt_check check ((state = 'retrying') = (next_attempt_at is not null))
);

-- The operator cannot write the state of a build. These are the transitions that it may ask for. A run of a cancelled
-- build no longer holds it, so its next write ends it.
create function cancel_build(build uuid, reason text) returns boolean language plpgsql security definer
  set search_path = public, pg_temp as $$
begin
  update builds set state = 'failed', error = left(reason, 2000), next_attempt_at = null,
    updated_at = clock_timestamp()
  where id = build and state in ('queued', 'running', 'retrying');
  return found;
end $$;

create function retry_build(build uuid, failed_within_ms bigint) returns boolean language plpgsql security definer
  set search_path = public, pg_temp as $$
begin
  update builds set state = 'queued', failed_runs = 0, out_of_memory_runs = 0, lost_runs = 0,
    updated_at = clock_timestamp()
  where id = build and state = 'failed'
    and updated_at > clock_timestamp() - make_interval(secs => failed_within_ms / 1000.0);
  return found;
end $$;

-- Versions -------------------------------------------------------------------------------------------------------

-- A version is one row with its one artifact, which has the same id, and its one retrieval profile: what was evaluated
-- and signed is what is served.
create table corpus_versions (
  id uuid primary key,
  knowledge_base_id uuid not null references knowledge_bases,
  build_id uuid not null unique references builds,
  state text not null default 'candidate' check (state in ('candidate', 'active', 'retired', 'rejected')),
  -- The artifact, and what it holds; embedding: null where it has no vectors.
  manifest_digest bytea not null check (octet_length(manifest_digest) = 32),
  embedding jsonb,
  passages integer not null check (passages > 0),
  documents integer not null check (documents > 0),
  facets jsonb not null,
  profile_id uuid not null unique,
  profile jsonb not null,
  -- The evaluation, and digests of the files that reviewers read; changes: null where no version was active.
  evaluation jsonb not null,
  passed boolean not null,
  report_sha256 bytea not null check (octet_length(report_sha256) = 32),
  figures_sha256 bytea not null check (octet_length(figures_sha256) = 32),
  changes_sha256 bytea check (octet_length(changes_sha256) = 32),
  -- Withdrawals that do not apply to it: the build left their passages out, or its reviewers restore them.
  withdrawals_decided uuid[] not null default '{}',
  created_at timestamptz not null default now()
);

create table active_versions (
  knowledge_base_id uuid primary key references knowledge_bases,
  version_id uuid not null references corpus_versions,
  previous_version_id uuid references corpus_versions,
  -- The time of the move, not of the start of its transaction, which may have waited for search nodes.
  activated_at timestamptz not null default clock_timestamp()
);

-- The guards read what other transactions committed, after their locks. An older snapshot would hide it.
create function assert_read_committed() returns void language plpgsql set search_path = public, pg_temp as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'reviewers, reviews, versions and pointers change only at isolation level read committed'
      using errcode = 'check_violation';
  end if;
end $$;

-- Reviewers, policies, reviews -----------------------------------------------------------------------------------
-- Postgres has no Ed25519: signatures are verified by the command line and by the job worker.

create table reviewers (
  seq bigint not null unique, -- set by the guard
  id uuid primary key,
  name text not null check (name <> ''),
  name_key text not null unique check (name_key <> ''), -- the name as names are compared; made by the command line
  login text,
  public_key bytea not null unique check (octet_length(public_key) = 44), -- Ed25519, SPKI, DER
  statement text not null check (octet_length(statement) <= 16384),
  endorsements jsonb not null check (octet_length(endorsements::text) <= 4096),
  change bigint not null, -- set by the guard: the order of reviewers and policies
  added_by_owner boolean not null default false, -- set by the guard
  created_at timestamptz not null default now(),
  retired_at timestamptz
);

-- Changes of reviewers and policies run one after the other. No role may touch the row that they lock.
create table reviewers_head (
  id boolean primary key default true check (id),
  changes bigint not null
);
insert into reviewers_head (changes) values (0);

-- What is read after it stays so until the transaction ends.
create function lock_reviewers() returns void language plpgsql security definer
  set search_path = public, pg_temp set lock_timeout = '10s' as $$
begin
  perform assert_read_committed();
  perform from reviewers_head for no key update;
end $$;

-- As many active reviewers endorse another one as the strictest policy in force requires. A reviewer comes without an
-- endorsement only at first, or from a login that has the role of the owner of the schema, as where all keys were lost.
-- That nobody is active proves nothing: rows of reviewers whom nobody endorsed may stand in between.
create function guard_reviewer() returns trigger language plpgsql security definer
  set search_path = public, pg_temp set lock_timeout = '10s' as $$
declare
  moved bigint;
  endorsers jsonb;
begin
  if tg_op = 'DELETE' then
    raise exception 'a reviewer is retired, never deleted' using errcode = 'check_violation';
  end if;
  perform assert_read_committed();
  update reviewers_head set changes = changes + 1 returning changes into moved;
  if tg_op = 'INSERT' then
    new.change := moved;
    new.seq := (select coalesce(max(seq), 0) + 1 from reviewers);
    new.added_by_owner := pg_has_role(session_user, 'evidence_migration', 'member');
    new.created_at := clock_timestamp();
    if new.retired_at is not null then
      raise exception 'a reviewer begins active' using errcode = 'check_violation';
    end if;
    endorsers := (
      select coalesce(jsonb_agg(s.reviewer order by s.reviewer), '[]')
      from jsonb_to_recordset(new.endorsements) as s (reviewer uuid, signature text)
    );
    if (endorsers <> '[]' or new.seq > 1 and not new.added_by_owner) and (
      select count(*) from reviewers where endorsers ? id::text and retired_at is null
    ) < strictest_required_reviewers() then
      raise exception 'active reviewers endorse every reviewer but the first, as many as the strictest policy requires'
        using errcode = 'check_violation';
    end if;
    if (new.statement::jsonb ->> 'id', new.statement::jsonb ->> 'name', new.statement::jsonb -> 'endorsed_by')
      is distinct from (new.id::text, new.name, endorsers) then
      raise exception 'the statement is about another reviewer' using errcode = 'check_violation';
    end if;
    return new;
  end if;
  new.retired_at := clock_timestamp();
  if old.retired_at is not null or not exists (
    select from reviewers where retired_at is null and id <> old.id
  ) then
    raise exception 'a reviewer is retired once, and the last active one never' using errcode = 'check_violation';
  end if;
  old.retired_at := new.retired_at;
  if new is distinct from old then
    raise exception 'a reviewer changes nothing but the time of retirement' using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger guard_reviewer before insert or update or delete on reviewers
  for each row execute function guard_reviewer();

create table review_policies (
  knowledge_base_id uuid not null references knowledge_bases,
  seq integer not null,
  statement text not null check (octet_length(statement) <= 16384),
  signatures jsonb not null check (octet_length(signatures::text) <= 4096),
  change bigint not null, -- set by the guard: the order of reviewers and policies
  created_at timestamptz not null default now(),
  primary key (knowledge_base_id, seq)
);

-- Number of different reviewers that the policy in force requires to activate a candidate, or to return to a version.
create function required_reviewers(base uuid, returns boolean default false) returns integer
  language sql stable security definer set search_path = public, pg_temp as $$
  select coalesce((
    select (statement::jsonb -> 'policy' ->> case when returns then 'rollback_reviewers' else 'reviewers' end)::integer
    from review_policies where knowledge_base_id = base order by seq desc limit 1
  ), case when returns then 0 else 1 end)
$$;

create function strictest_required_reviewers() returns integer language sql stable security definer
  set search_path = public, pg_temp as $$
  select coalesce(max(required_reviewers(id)), 1) from knowledge_bases
$$;

create function guard_review_policy() returns trigger language plpgsql security definer
  set search_path = public, pg_temp set lock_timeout = '10s' as $$
begin
  if tg_op <> 'INSERT' then
    raise exception 'a review policy is never changed or deleted' using errcode = 'check_violation';
  end if;
  perform assert_read_committed();
  update reviewers_head set changes = changes + 1 returning changes into new.change;
  new.created_at := clock_timestamp();
  if new.seq <> (select coalesce(max(seq), 0) + 1 from review_policies where knowledge_base_id = new.knowledge_base_id)
    or new.statement::jsonb ->> 'seq' is distinct from new.seq::text
    or new.statement::jsonb -> 'knowledge_base' ->> 'id' is distinct from new.knowledge_base_id::text
    or coalesce((new.statement::jsonb -> 'policy' ->> 'reviewers')::integer, 0) not between 1 and 5 then
    raise exception 'a review policy follows the one in force of its knowledge base' using errcode = 'check_violation';
  end if;
  if (
    select count(distinct r.id) from jsonb_to_recordset(new.signatures) as s (reviewer uuid, signature text)
    join reviewers r on r.id = s.reviewer and r.retired_at is null
  ) < required_reviewers(new.knowledge_base_id) then
    raise exception 'a review policy is signed by as many active reviewers as the one in force requires'
      using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger guard_review_policy before insert or update or delete on review_policies
  for each row execute function guard_review_policy();

-- Withdrawals ----------------------------------------------------------------------------------------------------
-- What is left out of every version of a knowledge base that did not decide about it, from the moment of the row. As
-- many reviewers sign a withdrawal, and its end, as the policy asks for.

create function required_withdrawal_reviewers(base uuid) returns integer language sql stable security definer
  set search_path = public, pg_temp as $$
  select coalesce((
    select (statement::jsonb -> 'policy' ->> 'withdrawal_reviewers')::integer
    from review_policies where knowledge_base_id = base order by seq desc limit 1
  ), 1)
$$;

create table withdrawals (
  id uuid primary key,
  knowledge_base_id uuid not null references knowledge_bases,
  document_id uuid not null references documents,
  provisions uuid[] not null check (cardinality(provisions) <= 32), -- empty, and no chunk_id: the whole document
  chunk_id text not null check (length(chunk_id) <= 100), -- '': no single passage
  label text not null check (length(label) between 1 and 1000),
  reason text not null check (length(reason) between 1 and 2000),
  statement text not null check (octet_length(statement) <= 16384),
  signatures jsonb not null check (octet_length(signatures::text) <= 4096),
  created_at timestamptz not null default now(),
  -- Null: in force.
  restored_at timestamptz,
  restoration text check (octet_length(restoration) <= 16384),
  restoration_signatures jsonb check (octet_length(restoration_signatures::text) <= 4096)
);
create index withdrawals_in_force on withdrawals (knowledge_base_id) where restored_at is null;

create function guard_withdrawal() returns trigger language plpgsql security definer
  set search_path = public, pg_temp as $$
declare
  stated jsonb;
  signed jsonb;
begin
  if tg_op = 'DELETE' then
    raise exception 'a withdrawal is never deleted' using errcode = 'check_violation';
  end if;
  perform assert_read_committed();
  if tg_op = 'INSERT' then
    stated := new.statement::jsonb;
    signed := new.signatures;
    new.created_at := clock_timestamp();
    if num_nonnulls(new.restored_at, new.restoration, new.restoration_signatures) > 0
      or (stated ->> 'id', stated -> 'knowledge_base' ->> 'id', stated ->> 'document', stated -> 'provisions',
        stated ->> 'chunk_id', stated ->> 'reason') is distinct from (new.id::text, new.knowledge_base_id::text,
        new.document_id::text, to_jsonb(new.provisions), new.chunk_id, new.reason) then
      raise exception 'the statement is about another withdrawal' using errcode = 'check_violation';
    end if;
  else
    stated := new.restoration::jsonb;
    signed := new.restoration_signatures;
    new.restored_at := clock_timestamp();
    if old.restored_at is not null or (stated ->> 'withdrawal', stated ->> 'withdrawal_sha256') is distinct from
      (old.id::text, encode(sha256(convert_to(old.statement, 'UTF8')), 'hex')) then
      raise exception 'a withdrawal is restored once, by a statement about it' using errcode = 'check_violation';
    end if;
    old.restored_at := new.restored_at;
    old.restoration := new.restoration;
    old.restoration_signatures := new.restoration_signatures;
    if new is distinct from old then
      raise exception 'a withdrawal changes nothing but its end' using errcode = 'check_violation';
    end if;
  end if;
  if (
    select count(distinct r.id) from jsonb_to_recordset(signed) as s (reviewer uuid, signature text)
    join reviewers r on r.id = s.reviewer and r.retired_at is null
  ) < required_withdrawal_reviewers(new.knowledge_base_id) then
    raise exception 'a withdrawal and its end are signed by as many active reviewers as the policy requires'
      using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger guard_withdrawal before insert or update or delete on withdrawals
  for each row execute function guard_withdrawal();

-- A review is of a transition between two versions.
create table reviews (
  id uuid primary key,
  version_id uuid not null references corpus_versions,
  predecessor_id uuid references corpus_versions,
  -- Sequence of the activation by which the predecessor was active; null for none.
  predecessor_activation bigint,
  verdict text not null check (verdict in ('approved', 'rejected')),
  reviewer_id uuid not null references reviewers,
  reviewer text not null,
  note text not null,
  statement text not null check (octet_length(statement) <= 16384),
  signature bytea not null check (octet_length(signature) = 64),
  created_at timestamptz not null default now()
);
create index reviews_by_version on reviews (version_id, created_at);

create function guard_review() returns trigger language plpgsql security definer
  set search_path = public, pg_temp as $$
declare
  stated jsonb;
begin
  if tg_op <> 'INSERT' then
    raise exception 'a review is never changed or deleted' using errcode = 'check_violation';
  end if;
  perform assert_read_committed();
  new.created_at := clock_timestamp();
  stated := new.statement::jsonb;
  if (stated ->> 'candidate', stated ->> 'predecessor', stated ->> 'predecessor_activation', stated ->> 'verdict',
    stated -> 'reviewer' ->> 'id') is distinct from (new.version_id::text, new.predecessor_id::text,
    new.predecessor_activation::text, new.verdict, new.reviewer_id::text) then
    raise exception 'the statement is about another review' using errcode = 'check_violation';
  end if;
  if not exists (select from reviewers where id = new.reviewer_id and retired_at is null) then
    raise exception 'an active reviewer reviews' using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger guard_review before insert or update or delete on reviews for each row execute function guard_review();

-- A version begins as a candidate and changes nothing but its state, along these transitions. That no signed review
-- rejects it is checked where signatures are verified.
create function guard_version() returns trigger language plpgsql security definer
  set search_path = public, pg_temp as $$
begin
  if tg_op = 'DELETE' then
    raise exception 'a version is never deleted' using errcode = 'check_violation';
  end if;
  perform assert_read_committed();
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
  if new.state = 'active' and old.state <> 'active' and not new.passed then
    raise exception 'a version becomes active only if it passed its evaluation' using errcode = 'check_violation';
  end if;
  -- The guard of the pointer counts the approvals.
  if new.state = 'active' and old.state = 'candidate' and not exists (
    select from active_versions where knowledge_base_id = new.knowledge_base_id and version_id = new.id
  ) then
    raise exception 'a candidate becomes active only after the pointer names it' using errcode = 'check_violation';
  end if;
  old.state := new.state;
  if new is distinct from old then
    raise exception 'a version changes nothing but its state' using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger guard_version before insert or update or delete on corpus_versions
  for each row execute function guard_version();

-- Activations ----------------------------------------------------------------------------------------------------
-- `sequence` orders the activations of a knowledge base as its pointer moved. `returns_to` is the sequence of the
-- activation that a rollback returns to, null where there is none. These links are the way back.

create table activations (
  id uuid primary key,
  knowledge_base_id uuid not null references knowledge_bases,
  version_id uuid not null references corpus_versions,
  expected_version_id uuid references corpus_versions, -- the predecessor this activation was asked against
  kind text not null check (kind in ('activate', 'rollback')),
  actor text not null,
  state text not null default 'queued' check (state in ('queued', 'done', 'refused')),
  message text,
  sequence bigint,
  returns_to bigint,
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  constraint activations_sequence unique (knowledge_base_id, sequence),
  constraint activations_way_back foreign key (knowledge_base_id, returns_to)
    references activations (knowledge_base_id, sequence),
  constraint activations_goes_back check (returns_to < sequence)
);

-- The way back from the active version of the knowledge base to a version: all of it where the version is not on it.
create function way_back_to(base uuid, version uuid)
  returns table (sequence bigint, version_id uuid, returns_to bigint) language sql stable
  set search_path = public, pg_temp as $$
  with recursive way as (
    (select a.sequence, a.version_id, a.returns_to from activations a
      where a.knowledge_base_id = base and a.sequence is not null order by a.sequence desc limit 1)
    union all
    select a.sequence, a.version_id, a.returns_to from way
      join activations a on a.knowledge_base_id = base and a.sequence = way.returns_to
      where way.version_id <> version
  )
  select * from way
$$;

-- The lock on the pointer, which the activation has moved, makes the order certain. An activation of a version on the
-- way back shortens the way to that version. Any other version goes on top of it.
create function order_activation() returns trigger language plpgsql security definer
  set search_path = public, pg_temp as $$
begin
  if old.state = 'done' then
    if (new.state, new.knowledge_base_id, new.version_id, new.expected_version_id, new.kind, new.sequence,
      new.returns_to) is distinct from (old.state, old.knowledge_base_id, old.version_id, old.expected_version_id,
      old.kind, old.sequence, old.returns_to) then
      raise exception 'an activation that is done stays as it is' using errcode = 'check_violation';
    end if;
    return new;
  end if;
  new.sequence := null;
  new.returns_to := null;
  if new.state = 'done' then
    perform from active_versions a
      where a.knowledge_base_id = new.knowledge_base_id and a.version_id = new.version_id for update;
    if not found then
      raise exception 'an activation is done only when its version is the active one' using errcode = 'check_violation';
    end if;
    select case when bool_or(w.version_id = new.version_id)
      then min(w.returns_to) filter (where w.version_id = new.version_id)
      else max(w.sequence) end
    into new.returns_to from way_back_to(new.knowledge_base_id, new.version_id) w;
    new.sequence := coalesce((select max(a.sequence) from activations a
      where a.knowledge_base_id = new.knowledge_base_id), 0) + 1;
  end if;
  return new;
end $$;
create trigger order_activation before update on activations
  for each row execute function order_activation();

-- The pointer moves to a candidate only if the candidate was compared with the version that it replaces, and enough
-- reviewers approve exactly this transition: to this profile, from the predecessor as this activation made it active.
-- It returns only along the way back, with the approvals that the policy asks for.
create function guard_pointer() returns trigger language plpgsql security definer
  set search_path = public, pg_temp as $$
declare
  predecessor uuid := case tg_op when 'UPDATE' then old.version_id end;
  activation bigint;
  candidate corpus_versions;
  returns boolean;
begin
  perform assert_read_committed();
  if new.version_id is not distinct from predecessor then
    return null;
  end if;
  select * into candidate from corpus_versions where id = new.version_id;
  returns := candidate.state <> 'candidate';
  if returns and tg_op = 'UPDATE' and not exists (
    select from way_back_to(new.knowledge_base_id, new.version_id) w where w.version_id = new.version_id
  ) then
    raise exception 'the pointer returns only to a version on the way back' using errcode = 'check_violation';
  end if;
  if not returns and not candidate.passed then
    raise exception 'a version becomes active only if it passed its evaluation' using errcode = 'check_violation';
  end if;
  if not returns and candidate.evaluation -> 'comparison' ->> 'version_id' is distinct from predecessor::text then
    raise exception 'a candidate becomes active only if it was compared with the version that it replaces'
      using errcode = 'check_violation';
  end if;
  activation := (select max(a.sequence) from activations a where a.knowledge_base_id = new.knowledge_base_id);
  if (
    select count(*) from (
      select distinct on (r.reviewer_id) r.reviewer_id, r.verdict, r.statement from reviews r
      where r.version_id = candidate.id and r.predecessor_id is not distinct from predecessor
        and r.predecessor_activation is not distinct from activation
      order by r.reviewer_id, r.created_at desc, r.id
    ) newest
    join reviewers p on p.id = newest.reviewer_id and p.retired_at is null
    where newest.verdict = 'approved' and newest.statement::jsonb -> 'profile' ->> 'id' = candidate.profile_id::text
  ) < required_reviewers(new.knowledge_base_id, returns) then
    raise exception 'a version becomes active only if enough reviewers approve this transition'
      using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger guard_pointer after insert or update of version_id on active_versions
  for each row execute function guard_pointer();

-- At commit, the active version of a knowledge base is the one that its pointer names.
create function guard_active_version() returns trigger language plpgsql security definer
  set search_path = public, pg_temp as $$
declare
  base uuid := case tg_op when 'DELETE' then old.knowledge_base_id else new.knowledge_base_id end;
begin
  if exists (
    select from active_versions a
    where a.knowledge_base_id = base and not exists (
      select from corpus_versions v where v.id = a.version_id and v.knowledge_base_id = base and v.state = 'active'
    )
  ) then
    raise exception 'the active version of a knowledge base is in state active and belongs to it'
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

-- The signed history: one entry an activation, with the hash of the entry before. Postgres has no Ed25519, so the job
-- worker signs and callers verify.
create table version_chain (
  knowledge_base_id uuid not null references knowledge_bases,
  sequence bigint not null,
  entry text not null check (octet_length(entry) <= 4096),
  record text not null check (octet_length(record) <= 262144),
  signature bytea not null check (octet_length(signature) = 64),
  primary key (knowledge_base_id, sequence),
  foreign key (knowledge_base_id, sequence) references activations (knowledge_base_id, sequence)
);

create function guard_version_chain() returns trigger language plpgsql security definer
  set search_path = public, pg_temp as $$
declare
  last version_chain;
begin
  if tg_op <> 'INSERT' then
    raise exception 'an entry of the version chain is never changed or removed' using errcode = 'check_violation';
  end if;
  select * into last from version_chain c where c.knowledge_base_id = new.knowledge_base_id
    order by c.sequence desc limit 1;
  if new.sequence <= last.sequence
    or (new.entry::jsonb ->> 'sequence', new.entry::jsonb -> 'knowledge_base' ->> 'id',
      new.entry::jsonb ->> 'record_sha256', new.entry::jsonb ->> 'previous_sha256') is distinct from
      (new.sequence::text, new.knowledge_base_id::text, encode(sha256(convert_to(new.record, 'UTF8')), 'hex'),
      encode(sha256(convert_to(last.entry, 'UTF8')), 'hex')) then
    raise exception 'an entry continues the version chain of its knowledge base' using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger guard_version_chain before insert or update or delete on version_chain
  for each row execute function guard_version_chain();

-- Limits and reservations ----------------------------------------------------------------------------------------

-- The epoch of an organization's counters in Redis, and the Redis process they were written to. An epoch is a random id:
-- a restored database cannot give out one that Redis already knows.
create table limit_epochs (
  organization_id uuid primary key references organizations,
  epoch uuid not null,
  redis_run_id text not null default ''
);

-- Decisions of operators on what was served: until a release nothing counts, and until a day more is allowed.
create table exposure_releases (
  id uuid primary key,
  organization_id uuid not null references organizations,
  knowledge_base_id uuid not null references knowledge_bases,
  environment text not null check (environment in ('test', 'live')),
  released_at timestamptz not null default now()
);

create table exposure_raises (
  id uuid primary key,
  organization_id uuid not null references organizations,
  knowledge_base_id uuid not null references knowledge_bases,
  environment text not null check (environment in ('test', 'live')),
  passages integer not null check (passages > 0),
  expires_at timestamptz not null
);
create index exposure_raises_by_organization on exposure_raises (organization_id, knowledge_base_id);

create table reservations (
  id uuid primary key, -- the request id
  trace_id uuid not null,
  organization_id uuid not null,
  client_id uuid not null,
  environment text not null,
  api_key_id uuid not null,
  entitlement_id uuid not null,
  plan_id uuid not null,
  knowledge_base_id uuid not null,
  version_id uuid not null,
  idempotency_digest bytea,
  fingerprint bytea not null,
  fingerprint_epoch integer not null,
  -- Of the whole request, under the key of that epoch; only with an Idempotency-Key.
  request_digest bytea,
  admitted_at timestamptz not null,
  deadline_at timestamptz not null,
  in_force_on date not null,
  -- Filters of the request and of the entitlement, as they were searched with.
  filters jsonb not null,
  -- The clock of Postgres at the reservation: an outcome may be recorded only for a bounded time after it.
  reserved_at timestamptz not null default clock_timestamp(),
  state text not null default 'open' check (state in ('open', 'delivered', 'refunded', 'failed')),
  finished_at timestamptz,
  outcome jsonb,
  served jsonb,
  -- What a later replay needs: keyed digest of the query vector, SHA-256 of each passage served in order, and the order
  -- of the re-ranker.
  replay jsonb
);
-- A row of more than 2 kB would be compressed, and its largest columns stored elsewhere with an index of theirs. That is
-- a fifth of the time of a delivery.
alter table reservations set (toast_tuple_target = 8160);
create unique index reservations_idempotency on reservations (client_id, environment, idempotency_digest)
  where idempotency_digest is not null and state <> 'refunded';
-- Keys are forgotten in the order of their requests.
create index reservations_idempotency_age on reservations (admitted_at) where idempotency_digest is not null;
create index reservations_by_trace on reservations (trace_id);
create index reservations_by_exposure on reservations (organization_id, admitted_at);
create index reservations_open on reservations (deadline_at) where state = 'open';
-- The cap of refunds counts the refunded requests of one day.
create index reservations_refunded on reservations (entitlement_id, admitted_at) where state = 'refunded';

-- A reservation begins open and is settled once. A delivered one may still be refunded while its caller was refused and
-- it has no ledger entry. An Idempotency-Key is forgotten 30 days after a request that the ledger has.
-- Nothing else of a settled reservation changes.
create function guard_reservation() returns trigger language plpgsql set search_path = public, pg_temp as $$
begin
  if tg_op = 'UPDATE' and old.state <> 'open' and old.idempotency_digest is not null
    and (new.idempotency_digest, new.request_digest) is not distinct from (null::bytea, null::bytea)
    and old.admitted_at < clock_timestamp() - interval '30 days'
    and not exists (select from ledger_outbox where reservation_id = old.id) then
    old.idempotency_digest := null;
    old.request_digest := null;
  end if;
  if tg_op = 'INSERT' or (old.state = 'open' and new.state = 'open') then
    if new.state <> 'open' or num_nonnulls(new.finished_at, new.outcome, new.served, new.replay) > 0 then
      raise exception 'a reservation is open without an outcome until it is settled';
    end if;
  elsif old.state = 'open' or (old.state = 'delivered' and new.state = 'refunded') then
    if new.finished_at is null or jsonb_typeof(new.outcome) is distinct from 'object'
      or (new.state = 'delivered' and jsonb_typeof(new.served) is distinct from 'array')
      or (new.state <> 'delivered' and (new.served, new.replay) is distinct from (old.served, old.replay)) then
      raise exception 'a settled reservation has a time and an outcome, and passages only where it was delivered';
    end if;
    if old.state = 'delivered' and not exists (select from ledger_outbox where reservation_id = new.id) then
      raise exception 'the reservation is in the ledger';
    end if;
  elsif new is distinct from old then
    raise exception 'a settled reservation does not change';
  end if;
  return new;
end $$;
create trigger guard_reservation before insert or update on reservations
  for each row execute function guard_reservation();

-- Reserves charged requests. The first statement takes each organization's shared lock without waiting; a rebuild of
-- its counters takes it exclusively before it moves the epoch. The second statement has a later snapshot, so it sees
-- every epoch that was moved before the lock. `digests` holds the digest of the Idempotency-Key under each service
-- secret, the one to store first; gateways whose secrets have another order meet in the lock on their least digest.
-- Returns the ids of the reserved requests. The others name another epoch, or a key that is held.
create function reserve_requests(requests jsonb)
  returns setof uuid language plpgsql security definer set search_path = public, pg_temp as $$
declare
  locked uuid[];
  digest text;
begin
  select coalesce(array_agg(o.id), '{}') into locked
  from (select distinct (q ->> 'organization_id')::uuid as id from jsonb_array_elements(requests) as q) as o
  where pg_try_advisory_xact_lock_shared(hashtextextended(o.id::text, 0));

  for digest in
    select distinct least(q -> 'digests' ->> 0, q -> 'digests' ->> 1) as first_digest
    from jsonb_array_elements(requests) as q where jsonb_array_length(q -> 'digests') > 1 order by first_digest
  loop
    perform pg_advisory_xact_lock(hashtextextended('idempotency:' || digest, 0));
  end loop;

  return query
  insert into reservations (id, trace_id, organization_id, client_id, environment, api_key_id, entitlement_id, plan_id,
    knowledge_base_id, version_id, idempotency_digest, fingerprint, fingerprint_epoch, request_digest,
    admitted_at, deadline_at, in_force_on, filters)
  select r.id, r.trace_id, r.organization_id, r.client_id, r.environment, r.api_key_id, r.entitlement_id, r.plan_id,
    r.knowledge_base_id, r.version_id, decode(r.digests ->> 0, 'hex'), decode(r.fingerprint, 'hex'),
    r.fingerprint_epoch, decode(r.request_digest, 'hex'), to_timestamp(r.admitted_ms / 1000),
    to_timestamp(r.deadline_ms / 1000), r.in_force_on, r.filters
  from jsonb_to_recordset(requests) as r (id uuid, trace_id uuid, organization_id uuid, client_id uuid,
    environment text, api_key_id uuid, entitlement_id uuid, plan_id uuid, knowledge_base_id uuid, version_id uuid,
    digests jsonb, fingerprint text, fingerprint_epoch integer, request_digest text, admitted_ms double precision,
    deadline_ms double precision, in_force_on date, filters jsonb, epoch uuid, redis_run_id text)
  join limit_epochs as e
    on e.organization_id = r.organization_id and e.epoch = r.epoch and e.redis_run_id = r.redis_run_id
  where r.organization_id = any (locked) and (r.digests ->> 1 is null or not exists (
    select from reservations as held where held.client_id = r.client_id and held.environment = r.environment
      and held.idempotency_digest = decode(r.digests ->> 1, 'hex') and held.state <> 'refunded'))
  order by r.client_id, r.digests ->> 0
  on conflict do nothing
  returning reservations.id;
end $$;

-- Records outcomes of open reservations within their time: `deliveries` is an array of objects with `id`, `outcome`,
-- `served`, `replay` and `withinMs`. A reservation that was settled otherwise is left alone, and a repetition with the
-- same outcome succeeds. Returns the ids of those that are delivered now. Each row is found by the primary key,
-- whatever the table held when the plan was made; a join of all rows could keep a plan that reads the whole table.
create function record_deliveries(deliveries jsonb) returns setof uuid language plpgsql
  set search_path = public, pg_temp set enable_seqscan = off as $$
declare
  d record;
begin
  for d in
    select * from jsonb_to_recordset(deliveries) as x (id uuid, outcome jsonb, served jsonb, replay jsonb,
      "withinMs" double precision)
  loop
    update reservations as r set state = 'delivered', finished_at = coalesce(r.finished_at, clock_timestamp()),
      outcome = d.outcome, served = d.served, replay = d.replay
    where r.id = d.id and ((r.state = 'delivered' and r.outcome = d.outcome)
      or (r.state = 'open' and clock_timestamp() < r.reserved_at + make_interval(secs => d."withinMs" / 1000)));
    if found then return next d.id; end if;
  end loop;
end $$;

-- Ledger ---------------------------------------------------------------------------------------------------------

-- The profile of a request is the one of its version.
create table ledger (
  reservation_id uuid primary key references reservations,
  organization_id uuid not null,
  client_id uuid not null,
  environment text not null,
  api_key_id uuid not null,
  entitlement_id uuid not null,
  plan_id uuid not null,
  knowledge_base_id uuid not null,
  version_id uuid not null,
  trace_id uuid not null,
  fingerprint bytea not null,
  fingerprint_epoch integer not null,
  admitted_at timestamptz not null,
  finished_at timestamptz not null,
  state text not null check (state in ('delivered', 'refunded', 'failed')),
  charged boolean not null,
  outcome jsonb not null,
  appended_at timestamptz not null default now()
);
create index ledger_by_time on ledger (admitted_at);

-- The outbox: settled reservations without a ledger entry. Settlement adds a row, the entry removes it.
create table ledger_outbox (
  reservation_id uuid primary key references reservations,
  added_at timestamptz not null default clock_timestamp()
);

create function request_ledger_entry() returns trigger language plpgsql security definer
  set search_path = public, pg_temp as $$
begin
  insert into ledger_outbox (reservation_id) values (new.id);
  return null;
end $$;
create trigger request_ledger_entry after update on reservations for each row
  when (old.state = 'open' and new.state <> 'open') execute function request_ledger_entry();

-- The ledger is a copy of settled reservations; no role can write anything else into it. The first statement locks the
-- outbox rows and leaves those that another call holds. The second one reads the reservations after that.
create function append_ledger(ids uuid[]) returns integer language plpgsql security definer
  set search_path = public, pg_temp as $$
declare
  due uuid[];
begin
  select coalesce(array_agg(locked.reservation_id), '{}') into due from (
    select o.reservation_id from ledger_outbox as o where o.reservation_id = any (ids) order by o.reservation_id
    for update skip locked) as locked;
  insert into ledger (reservation_id, organization_id, client_id, environment, api_key_id, entitlement_id, plan_id,
    knowledge_base_id, version_id, trace_id, fingerprint, fingerprint_epoch, admitted_at, finished_at, state, charged,
    outcome)
  select r.id, r.organization_id, r.client_id, r.environment, r.api_key_id, r.entitlement_id, r.plan_id,
    r.knowledge_base_id, r.version_id, r.trace_id, r.fingerprint, r.fingerprint_epoch, r.admitted_at,
    r.finished_at, r.state, r.state in ('delivered', 'failed'), r.outcome
  from reservations as r where r.id = any (due);
  delete from ledger_outbox where reservation_id = any (due);
  return cardinality(due);
end $$;

-- Audit trail ----------------------------------------------------------------------------------------------------
-- A hash chain that nobody alters. `seq` is dense from 1. `hash` covers every other column and the hash of the entry
-- before. `login` is the login role of the session that wrote the entry.

create table audit (
  seq bigint primary key,
  at timestamptz not null,
  login text not null,
  actor text not null,
  action text not null,
  subject text not null,
  detail jsonb not null default '{}',
  previous_hash bytea not null check (octet_length(previous_hash) = 32),
  hash bytea not null check (octet_length(hash) = 32)
);

-- The end of the chain, and its lock: no role may touch the row, so nobody who cannot append can hold the chain up.
create table audit_head (
  id boolean primary key default true check (id),
  seq bigint not null,
  hash bytea not null check (octet_length(hash) = 32)
);
insert into audit_head (seq, hash) values (0, decode(repeat('00', 32), 'hex'));

-- A length before every field keeps two entries with differently divided text apart.
create function audit_field(value text) returns bytea language sql immutable
  set search_path = public, pg_temp as $$
  select int4send(octet_length(convert_to(value, 'UTF8'))) || convert_to(value, 'UTF8')
$$;

-- `core/db/audit-chain.ts` computes the same in Node. Time is in microseconds, detail is the text of its jsonb.
create function audit_hash(entry audit) returns bytea language sql stable set search_path = public, pg_temp as $$
  select sha256(entry.previous_hash || audit_field(entry.seq::text)
    || audit_field((extract(epoch from entry.at) * 1000000)::bigint::text) || audit_field(entry.login)
    || audit_field(entry.actor) || audit_field(entry.action) || audit_field(entry.subject)
    || audit_field(entry.detail::text))
$$;

-- No caller sets number, time, login or hash. The lock is held to the end of the transaction, so an entry is appended
-- last: after every other lock of the transaction. Whoever waits gives up after a bounded time.
create function append_to_audit_chain() returns trigger language plpgsql security definer
  set search_path = public, pg_temp set lock_timeout = '10s' as $$
declare
  head audit_head;
begin
  select * into strict head from audit_head for no key update;
  new.seq := head.seq + 1;
  new.previous_hash := head.hash;
  new.login := session_user;
  new.at := clock_timestamp();
  new.hash := audit_hash(new);
  update audit_head set seq = new.seq, hash = new.hash;
  return new;
end $$;
create trigger append_to_audit_chain before insert on audit
  for each row execute function append_to_audit_chain();

create function keep_audit() returns trigger language plpgsql set search_path = public, pg_temp as $$
begin
  raise exception 'an entry of the audit trail is never changed or removed' using errcode = 'check_violation';
end $$;
create trigger keep_audit before update or delete or truncate on audit
  for each statement execute function keep_audit();

-- Notifications --------------------------------------------------------------------------------------------------
-- Every change of access reaches the gateways at once; their short cache covers a lost notification.

create function notify_access_changed() returns trigger language plpgsql as $$
begin
  perform pg_notify('access_changed', '');
  return null;
end $$;
do $$ declare
  name text;
begin
  foreach name in array array['organizations', 'clients', 'entitlements', 'api_keys', 'active_versions',
    'fingerprint_keys', 'withdrawals', 'exposure_raises'] loop
    execute format('create trigger access_changed after insert or update or delete on %I '
      'for each statement execute function notify_access_changed()', name);
  end loop;
end $$;

-- Grants ---------------------------------------------------------------------------------------------------------
-- Nobody but the owner may update or delete in audit or ledger; plans and versions are immutable.

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
grant select (knowledge_base_id, version_id) on active_versions to evidence_gateway;
grant select (id, knowledge_base_id, state, passages, facets, embedding, profile_id, profile, withdrawals_decided)
  on corpus_versions to evidence_gateway;
grant select (id, knowledge_base_id, document_id, provisions, chunk_id, restored_at) on withdrawals
  to evidence_gateway, evidence_jobs;
grant select (organization_id, knowledge_base_id, environment, released_at) on exposure_releases to evidence_gateway;
grant select (organization_id, knowledge_base_id, environment, passages, expires_at) on exposure_raises
  to evidence_gateway;
grant select, insert, update on limit_epochs to evidence_gateway;
grant select (id, organization_id, client_id, environment, entitlement_id, plan_id, knowledge_base_id, version_id,
  idempotency_digest, fingerprint_epoch, request_digest, admitted_at, deadline_at, reserved_at, state, finished_at,
  outcome, served) on reservations to evidence_gateway;
grant update (state, finished_at, outcome, served, replay) on reservations to evidence_gateway;
grant execute on function reserve_requests(jsonb), record_deliveries(jsonb) to evidence_gateway;
-- A lock on an outbox row needs the right to update a column of it.
grant select, update (added_at) on ledger_outbox to evidence_gateway, evidence_jobs;

-- The job worker builds and activates versions, refunds overdue reservations and requests ledger entries.
grant select on builds, activations to evidence_jobs;
grant update (state, attempt, stage, done, total, embedding, error, failed_runs, out_of_memory_runs, lost_runs,
  next_attempt_at, updated_at) on builds to evidence_jobs;
grant update (state, message, finished_at) on activations to evidence_jobs;
grant select (id, slug, title, traced) on knowledge_bases to evidence_jobs;
grant select, insert on version_chain to evidence_jobs;
grant select (id, knowledge_base_id, mapping, snapshot_ids, report, created_at) on imports to evidence_jobs;
grant insert (id, knowledge_base_id, mapping, snapshot_ids, report) on imports to evidence_jobs;
grant insert (id, knowledge_base_id, source_name, media_type, sha256, bytes) on source_snapshots to evidence_jobs;
grant insert (id, knowledge_base_id, import_id, parameters, started_by) on builds to evidence_jobs;
grant select on sources, captures to evidence_jobs, evidence_operator;
grant insert (source_id, outcome, message, files) on captures to evidence_jobs, evidence_operator;
grant delete on captures to evidence_jobs;
grant select (id, knowledge_base_id, source_name, media_type, sha256, bytes, captured_at, captured_by)
  on source_snapshots to evidence_jobs;
grant select (knowledge_base_id, profile_ids, active, updated_at) on entitlements to evidence_jobs;
grant select (id, limits) on plans to evidence_jobs;
grant insert (id, knowledge_base_id, key) on documents to evidence_jobs;
grant insert (id, document_id, snapshot_id, title, published_at, effective_at, effective_to, content_sha256, lineage)
  on revisions to evidence_jobs;
grant select (id) on revisions to evidence_jobs;
grant select on corpus_versions, active_versions to evidence_jobs;
grant insert (id, knowledge_base_id, build_id, manifest_digest, embedding, passages, documents, facets, profile_id,
  profile, evaluation, passed, report_sha256, figures_sha256, changes_sha256, withdrawals_decided) on corpus_versions
  to evidence_jobs;
grant update (state) on corpus_versions to evidence_jobs;
grant insert (knowledge_base_id, version_id) on active_versions to evidence_jobs;
grant update (version_id, previous_version_id, activated_at) on active_versions to evidence_jobs;
grant select on reviewers, review_policies to evidence_jobs;
grant select (id, version_id, predecessor_id, predecessor_activation, verdict, reviewer_id, statement, signature,
  created_at) on reviews to evidence_jobs;
grant select (id, organization_id, client_id, environment, entitlement_id, plan_id, knowledge_base_id, version_id,
  idempotency_digest, admitted_at, deadline_at, state, finished_at) on reservations to evidence_jobs;
grant update (state, finished_at, outcome, idempotency_digest, request_digest) on reservations to evidence_jobs;
grant execute on function append_ledger(uuid[]) to evidence_jobs;
grant insert (actor, action, subject, detail) on audit to evidence_jobs;

-- The command line manages access and reviews, asks for jobs, and reads what was done.
grant select on organizations, clients, plans, knowledge_bases, entitlements, fingerprint_keys, source_snapshots,
  imports, builds, corpus_versions, reviewers, review_policies, reviews,
  active_versions, activations, version_chain, ledger, exposure_releases, exposure_raises, withdrawals,
  reservations, audit to evidence_operator;
grant select (id, client_id, environment, pepper, prefix, scopes, created_at, expires_at, revoked_at) on api_keys
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
grant insert (id, knowledge_base_id, import_id, parameters, started_by) on builds to evidence_operator;
grant insert (id, knowledge_base_id, name, location, mapping, hosts, private, every_minutes) on sources
  to evidence_operator;
grant update (removed_at) on sources to evidence_operator;
grant insert (id, name, name_key, login, public_key, statement, endorsements) on reviewers to evidence_operator;
grant insert (knowledge_base_id, seq, statement, signatures) on review_policies to evidence_operator;
grant insert (id, version_id, predecessor_id, predecessor_activation, verdict, reviewer_id, reviewer, note, statement,
  signature) on reviews to evidence_operator;
grant insert (id, knowledge_base_id, version_id, expected_version_id, kind, actor) on activations to evidence_operator;
grant insert (id, organization_id, knowledge_base_id, environment) on exposure_releases to evidence_operator;
grant insert (id, organization_id, knowledge_base_id, environment, passages, expires_at) on exposure_raises
  to evidence_operator;
grant insert (id, knowledge_base_id, document_id, provisions, chunk_id, label, reason, statement, signatures)
  on withdrawals to evidence_operator;
grant update (restored_at, restoration, restoration_signatures) on withdrawals to evidence_operator;
grant insert (actor, action, subject, detail) on audit to evidence_operator;
grant update (active) on organizations, clients to evidence_operator;
grant update (traced) on knowledge_bases to evidence_operator;
grant update (plan_id, active, languages, jurisdictions, subjects, profile_ids, updated_at) on entitlements
  to evidence_operator;
grant update (revoked_at, expires_at) on api_keys to evidence_operator;
grant update (wrapped, erased_at) on fingerprint_keys to evidence_operator;
grant update (state) on corpus_versions to evidence_operator;
grant update (retired_at) on reviewers to evidence_operator;
grant update (epoch) on limit_epochs to evidence_operator;
grant execute on function cancel_build(uuid, text), retry_build(uuid, bigint), lock_reviewers() to evidence_operator;
