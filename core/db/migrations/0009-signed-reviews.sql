-- Oldest release: 0.2.0
-- Reviewers sign with keys of their own, and a review is of a transition between two versions.

-- The guards below read what other transactions committed, after their locks. An older snapshot would hide it.
create function assert_read_committed() returns void language plpgsql set search_path = public, pg_temp as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'reviewers, reviews, versions and pointers change only at isolation level read committed'
      using errcode = 'check_violation';
  end if;
end $$;

-- Reviewers ------------------------------------------------------------------------------------------------------

create table reviewers (
  seq bigint not null unique, -- set by the guard
  id uuid primary key,
  name text not null unique check (name <> ''),
  login text,
  public_key bytea not null unique check (octet_length(public_key) = 44), -- Ed25519, SPKI, DER
  endorsed_by uuid references reviewers,
  statement text not null check (octet_length(statement) <= 16384),
  endorsement bytea check (octet_length(endorsement) = 64),
  added_by_owner boolean not null default false, -- set by the guard
  created_at timestamptz not null default now(),
  retired_at timestamptz,
  check ((endorsed_by is null) = (endorsement is null))
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

-- A reviewer comes without the endorsement of an active one only at first, or from a login that has the role of the
-- owner of the schema, as where all keys were lost. That nobody is active proves nothing: rows of reviewers whom nobody
-- endorsed may stand in between. Postgres has no Ed25519: signatures are verified by the command line and by the job
-- worker.
create function guard_reviewer() returns trigger language plpgsql security definer
  set search_path = public, pg_temp set lock_timeout = '10s' as $$
begin
  if tg_op = 'DELETE' then
    raise exception 'a reviewer is retired, never deleted' using errcode = 'check_violation';
  end if;
  perform assert_read_committed();
  update reviewers_head set changes = changes + 1;
  if tg_op = 'INSERT' then
    new.seq := (select coalesce(max(seq), 0) + 1 from reviewers);
    new.added_by_owner := pg_has_role(session_user, 'evidence_migration', 'member');
    new.created_at := clock_timestamp();
    if new.retired_at is not null then
      raise exception 'a reviewer begins active' using errcode = 'check_violation';
    end if;
    if new.endorsed_by is null and new.seq > 1 and not new.added_by_owner
      or new.endorsed_by is not null
        and not exists (select from reviewers where id = new.endorsed_by and retired_at is null) then
      raise exception 'an active reviewer endorses every reviewer but the first' using errcode = 'check_violation';
    end if;
    if (new.statement::jsonb ->> 'id', new.statement::jsonb ->> 'name', new.statement::jsonb ->> 'endorsed_by')
      is distinct from (new.id::text, new.name, new.endorsed_by::text) then
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

-- Policies -------------------------------------------------------------------------------------------------------

create table review_policies (
  knowledge_base_id uuid not null references knowledge_bases,
  seq integer not null,
  statement text not null check (octet_length(statement) <= 16384),
  signatures jsonb not null check (octet_length(signatures::text) <= 4096),
  created_at timestamptz not null default now(),
  primary key (knowledge_base_id, seq)
);

-- Number of different reviewers that the policy in force requires.
create function required_reviewers(base uuid) returns integer language sql stable security definer
  set search_path = public, pg_temp as $$
  select coalesce((
    select (statement::jsonb -> 'policy' ->> 'reviewers')::integer
    from review_policies where knowledge_base_id = base order by seq desc limit 1
  ), 1)
$$;

create function guard_review_policy() returns trigger language plpgsql security definer
  set search_path = public, pg_temp set lock_timeout = '10s' as $$
begin
  if tg_op <> 'INSERT' then
    raise exception 'a review policy is never changed or deleted' using errcode = 'check_violation';
  end if;
  perform assert_read_committed();
  update reviewers_head set changes = changes + 1;
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

-- Reviews --------------------------------------------------------------------------------------------------------
-- Rows of earlier releases have none of these columns. Their approvals count for nothing.

alter table reviews
  add column reviewer_id uuid references reviewers,
  add column predecessor_id uuid references corpus_versions,
  -- Sequence of the activation by which the predecessor was active; null for none.
  add column predecessor_activation bigint,
  add column statement text check (octet_length(statement) <= 16384),
  add column signature bytea check (octet_length(signature) = 64),
  add check (num_nulls(reviewer_id, statement, signature) in (0, 3));
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
  if new.signature is null then
    raise exception 'a review is signed' using errcode = 'check_violation';
  end if;
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

-- A signed rejection counts where its signature is verified, which is not here. The database trusts the state alone, and
-- of the rows of earlier releases the newest.
create function is_rejected(version uuid) returns boolean language sql stable security definer
  set search_path = public, pg_temp as $$
  select exists (select from corpus_versions where id = version and state = 'rejected')
    or coalesce((
      select verdict = 'rejected' from reviews where version_id = version and signature is null
      order by created_at desc, id limit 1
    ), false)
$$;

-- Versions -------------------------------------------------------------------------------------------------------

-- Digests of the files that reviewers read. A candidate of an earlier release has none and cannot be approved.
alter table corpus_versions
  add column report_sha256 bytea check (octet_length(report_sha256) = 32),
  add column figures_sha256 bytea check (octet_length(figures_sha256) = 32),
  add column changes_sha256 bytea check (octet_length(changes_sha256) = 32);

-- One version has one projection, and this one profile: what was evaluated and signed is what is served.
create unique index projections_one_per_version on projections (version_id);
create unique index retrieval_profiles_one_per_projection on retrieval_profiles (projection_id);

-- Who started a build: the actor that was named, and the login, which Postgres vouches for.
alter table builds add column started_by text, add column started_login text;
alter table builds alter column started_login set default session_user;

create or replace function guard_version() returns trigger language plpgsql security definer
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
  if new.state = 'active' and old.state <> 'active' and (not new.passed or is_rejected(new.id)) then
    raise exception 'a version becomes active only if it passed its evaluation and no review rejects it'
      using errcode = 'check_violation';
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

-- Whether a version lies on the way back from the active version of the knowledge base.
create function is_on_way_back(base uuid, version uuid) returns boolean language sql stable security definer
  set search_path = public, pg_temp as $$
  with recursive way as (
    (select a.version_id, a.returns_to from activations a
      where a.knowledge_base_id = base and a.sequence is not null order by a.sequence desc limit 1)
    union all
    select a.version_id, a.returns_to from way
      join activations a on a.knowledge_base_id = base and a.sequence = way.returns_to
      where way.version_id <> version
  )
  select coalesce(bool_or(way.version_id = version), false) from way
$$;

-- The pointer moves to a candidate only if the candidate was compared with the version that it replaces, and enough
-- reviewers approve exactly this transition: to this profile, from the predecessor as this activation made it active.
-- It returns only along the way back. The profile of the active version never changes.
create function guard_pointer() returns trigger language plpgsql security definer
  set search_path = public, pg_temp as $$
declare
  predecessor uuid := case tg_op when 'UPDATE' then old.version_id end;
  activation bigint;
  candidate corpus_versions;
begin
  perform assert_read_committed();
  if new.version_id is not distinct from predecessor then
    if new.profile_id <> old.profile_id then
      raise exception 'the profile of the active version never changes' using errcode = 'check_violation';
    end if;
    return null;
  end if;
  select * into candidate from corpus_versions where id = new.version_id;
  if candidate.state <> 'candidate' then
    if tg_op = 'UPDATE' and not is_on_way_back(new.knowledge_base_id, new.version_id) then
      raise exception 'the pointer returns only to a version on the way back' using errcode = 'check_violation';
    end if;
    return null;
  end if;
  if not candidate.passed or is_rejected(candidate.id) then
    raise exception 'a version becomes active only if it passed its evaluation and no review rejects it'
      using errcode = 'check_violation';
  end if;
  if candidate.evaluation -> 'comparison' ->> 'version_id' is distinct from predecessor::text then
    raise exception 'a candidate becomes active only if it was compared with the version that it replaces'
      using errcode = 'check_violation';
  end if;
  activation := (select max(a.sequence) from activations a where a.knowledge_base_id = new.knowledge_base_id);
  if (
    select count(*) from (
      select distinct on (r.reviewer_id) r.reviewer_id, r.verdict, r.statement from reviews r
      where r.version_id = candidate.id and r.predecessor_id is not distinct from predecessor
        and r.predecessor_activation is not distinct from activation and r.signature is not null
      order by r.reviewer_id, r.created_at desc, r.id
    ) newest
    join reviewers p on p.id = newest.reviewer_id and p.retired_at is null
    where newest.verdict = 'approved' and newest.statement::jsonb -> 'profile' ->> 'id' = new.profile_id::text
  ) < required_reviewers(candidate.knowledge_base_id) then
    raise exception 'a candidate becomes active only if enough reviewers approve this transition'
      using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger guard_pointer after insert or update of version_id, profile_id on active_versions
  for each row execute function guard_pointer();

-- Owners and grants ----------------------------------------------------------------------------------------------

alter table reviewers owner to evidence_migration;
alter table reviewers_head owner to evidence_migration;
alter table review_policies owner to evidence_migration;
alter function assert_read_committed() owner to evidence_migration;
alter function lock_reviewers() owner to evidence_migration;
alter function is_on_way_back(uuid, uuid) owner to evidence_migration;
alter function guard_reviewer() owner to evidence_migration;
alter function guard_review_policy() owner to evidence_migration;
alter function guard_review() owner to evidence_migration;
alter function guard_pointer() owner to evidence_migration;
alter function required_reviewers(uuid) owner to evidence_migration;
alter function is_rejected(uuid) owner to evidence_migration;
revoke execute on function guard_reviewer(), guard_review_policy(), guard_review(), guard_pointer(),
  required_reviewers(uuid), is_rejected(uuid), assert_read_committed(), lock_reviewers(), is_on_way_back(uuid, uuid)
  from public;
grant execute on function is_rejected(uuid) to evidence_jobs, evidence_operator;
grant execute on function lock_reviewers() to evidence_operator;

grant select on reviewers, review_policies to evidence_jobs, evidence_operator;
grant insert (id, name, login, public_key, endorsed_by, statement, endorsement) on reviewers to evidence_operator;
grant update (retired_at) on reviewers to evidence_operator;
grant insert (knowledge_base_id, seq, statement, signatures) on review_policies to evidence_operator;
grant insert (reviewer_id, predecessor_id, predecessor_activation, statement, signature) on reviews
  to evidence_operator;
grant select (reviewer_id, predecessor_id, predecessor_activation, statement, signature) on reviews to evidence_jobs;
grant insert (report_sha256, figures_sha256, changes_sha256) on corpus_versions to evidence_jobs;
grant insert (started_by) on builds to evidence_operator;
