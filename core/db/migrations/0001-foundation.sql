-- Oldest release: 0.1.0
-- Who may reach what, what there is to reach, and what was done. Forward only.

do $$ begin
  create role evidence_service nologin;
exception when duplicate_object or unique_violation then null; end $$;
do $$ begin
  create role evidence_operator nologin;
exception when duplicate_object or unique_violation then null; end $$;

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

-- Corpus ---------------------------------------------------------------------------------------------------------

create table source_snapshots (
  id uuid primary key,
  knowledge_base_id uuid not null references knowledge_bases,
  source_name text not null,
  media_type text not null,
  sha256 bytea not null check (octet_length(sha256) = 32),
  bytes bigint not null check (bytes >= 0),
  captured_at timestamptz not null default now(),
  unique (knowledge_base_id, source_name, sha256)
);

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
  state text not null default 'queued' check (state in ('queued', 'running', 'succeeded', 'failed')),
  attempt integer not null default 0,
  stage text,
  done bigint not null default 0,
  total bigint not null default 0,
  error text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

create table corpus_versions (
  id uuid primary key,
  knowledge_base_id uuid not null references knowledge_bases,
  build_id uuid not null unique references builds,
  state text not null default 'candidate' check (state in ('candidate', 'active', 'retired', 'rejected')),
  passages integer not null check (passages > 0),
  documents integer not null check (documents > 0),
  facets jsonb not null,
  evaluation jsonb not null,
  passed boolean not null,
  created_at timestamptz not null default now()
);

create table projections (
  id uuid primary key,
  version_id uuid not null references corpus_versions,
  embedding jsonb not null,
  manifest_digest bytea not null check (octet_length(manifest_digest) = 32),
  created_at timestamptz not null default now()
);

create table retrieval_profiles (
  id uuid primary key,
  projection_id uuid not null references projections,
  parameters jsonb not null,
  signal text not null,
  threshold double precision not null check (threshold between 0 and 1),
  created_at timestamptz not null default now()
);

create table reviews (
  id uuid primary key,
  version_id uuid not null references corpus_versions,
  verdict text not null check (verdict in ('approved', 'rejected')),
  reviewer text not null,
  note text not null,
  created_at timestamptz not null default now()
);

create table active_versions (
  knowledge_base_id uuid primary key references knowledge_bases,
  version_id uuid not null references corpus_versions,
  profile_id uuid not null references retrieval_profiles,
  previous_version_id uuid references corpus_versions,
  activated_at timestamptz not null default now()
);

create table activations (
  id uuid primary key,
  knowledge_base_id uuid not null references knowledge_bases,
  version_id uuid not null references corpus_versions,
  expected_version_id uuid references corpus_versions, -- the predecessor this activation was asked against
  kind text not null check (kind in ('activate', 'rollback')),
  actor text not null,
  state text not null default 'queued' check (state in ('queued', 'done', 'refused')),
  message text,
  created_at timestamptz not null default now(),
  finished_at timestamptz
);

-- Use ------------------------------------------------------------------------------------------------------------

-- The epoch of an organization's counters in Redis, and the Redis process they were written to.
create table limit_epochs (
  organization_id uuid primary key references organizations,
  epoch bigint not null default 1,
  redis_run_id text not null default ''
);

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
  profile_id uuid not null,
  idempotency_digest bytea,
  fingerprint bytea not null,
  fingerprint_epoch integer not null,
  admitted_at timestamptz not null,
  deadline_at timestamptz not null,
  in_force_on date not null,
  state text not null default 'open' check (state in ('open', 'delivered', 'refunded', 'failed')),
  finished_at timestamptz,
  outcome jsonb,
  served jsonb
);
create unique index reservations_idempotency on reservations (client_id, environment, idempotency_digest)
  where idempotency_digest is not null and state <> 'refunded';
create index reservations_by_entitlement on reservations (entitlement_id, admitted_at);
create index reservations_by_exposure on reservations (organization_id, admitted_at);
create index reservations_open on reservations (deadline_at) where state = 'open';
create index reservations_finished on reservations (finished_at) where state <> 'open';

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
  profile_id uuid not null,
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

create table exposure_releases (
  id uuid primary key,
  organization_id uuid not null references organizations,
  knowledge_base_id uuid not null references knowledge_bases,
  released_at timestamptz not null default now()
);

create table audit (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  actor text not null,
  action text not null,
  subject text not null,
  detail jsonb not null default '{}'
);

-- Maintenance remembers up to when every finished reservation has its ledger entry.
create table ledger_watermark (
  only_row boolean primary key default true check (only_row),
  complete_until timestamptz not null default '-infinity'
);
insert into ledger_watermark default values;

-- Every change of access reaches the gateways at once; their short cache covers a lost notification.
create function notify_access_changed() returns trigger language plpgsql as $$
begin
  perform pg_notify('access_changed', '');
  return null;
end $$;
create trigger access_changed after insert or update or delete on organizations for each statement execute function notify_access_changed();
create trigger access_changed after insert or update or delete on clients for each statement execute function notify_access_changed();
create trigger access_changed after insert or update or delete on entitlements for each statement execute function notify_access_changed();
create trigger access_changed after insert or update or delete on api_keys for each statement execute function notify_access_changed();
create trigger access_changed after insert or update or delete on active_versions for each statement execute function notify_access_changed();
create trigger access_changed after insert or update or delete on fingerprint_keys for each statement execute function notify_access_changed();
create trigger access_changed after insert or update or delete on limit_epochs for each statement execute function notify_access_changed();

-- Grants ---------------------------------------------------------------------------------------------------------
-- Nobody but the owner may update or delete in audit or ledger; plans, versions' artifacts and profiles are immutable.

grant usage on schema public to evidence_service, evidence_operator;
grant select on all tables in schema public to evidence_service, evidence_operator;

grant insert on reservations, ledger, audit, limit_epochs, documents, revisions, corpus_versions, projections, retrieval_profiles, active_versions, fingerprint_keys to evidence_service;
grant update on limit_epochs, ledger_watermark, active_versions to evidence_service;
grant update (state, finished_at, outcome, served) on reservations to evidence_service;
grant update (state, attempt, stage, done, total, error, updated_at) on builds to evidence_service;
grant update (state) on corpus_versions to evidence_service;
grant update (state, message, finished_at) on activations to evidence_service;

grant insert on organizations, clients, plans, knowledge_bases, entitlements, api_keys, fingerprint_keys, source_snapshots, imports, builds, reviews, activations, exposure_releases, limit_epochs, audit to evidence_operator;
grant update (active) on organizations, clients to evidence_operator;
grant update (plan_id, active, languages, jurisdictions, subjects, profile_ids, updated_at) on entitlements to evidence_operator;
grant update (revoked_at, expires_at) on api_keys to evidence_operator;
grant update (wrapped, erased_at) on fingerprint_keys to evidence_operator;
grant update (state) on corpus_versions to evidence_operator;
grant update (epoch) on limit_epochs to evidence_operator;
