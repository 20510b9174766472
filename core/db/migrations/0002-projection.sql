-- Oldest release: 0.2.0
-- The projection of a request: the artifact that its version is served from, by the SHA-256 of the manifest. Null where
-- a gateway of an earlier release admitted the request.
alter table reservations add column projection bytea check (octet_length(projection) = 32);
alter table ledger add column projection bytea check (octet_length(projection) = 32);
grant select (manifest_digest) on corpus_versions to evidence_gateway;

create or replace function reserve_requests(requests jsonb)
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
    knowledge_base_id, version_id, projection, idempotency_digest, fingerprint, fingerprint_epoch, request_digest,
    admitted_at, deadline_at, in_force_on, filters)
  select r.id, r.trace_id, r.organization_id, r.client_id, r.environment, r.api_key_id, r.entitlement_id, r.plan_id,
    r.knowledge_base_id, r.version_id, decode(r.projection, 'hex'), decode(r.digests ->> 0, 'hex'), decode(r.fingerprint, 'hex'),
    r.fingerprint_epoch, decode(r.request_digest, 'hex'), to_timestamp(r.admitted_ms / 1000),
    to_timestamp(r.deadline_ms / 1000), r.in_force_on, r.filters
  from jsonb_to_recordset(requests) as r (id uuid, trace_id uuid, organization_id uuid, client_id uuid,
    environment text, api_key_id uuid, entitlement_id uuid, plan_id uuid, knowledge_base_id uuid, version_id uuid,
    projection text, digests jsonb, fingerprint text, fingerprint_epoch integer, request_digest text, admitted_ms double precision,
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

create or replace function append_ledger(ids uuid[]) returns integer language plpgsql security definer
  set search_path = public, pg_temp as $$
declare
  due uuid[];
begin
  select coalesce(array_agg(locked.reservation_id), '{}') into due from (
    select o.reservation_id from ledger_outbox as o where o.reservation_id = any (ids) order by o.reservation_id
    for update skip locked) as locked;
  insert into ledger (reservation_id, organization_id, client_id, environment, api_key_id, entitlement_id, plan_id,
    knowledge_base_id, version_id, projection, trace_id, fingerprint, fingerprint_epoch, admitted_at, finished_at, state, charged,
    outcome)
  select r.id, r.organization_id, r.client_id, r.environment, r.api_key_id, r.entitlement_id, r.plan_id,
    r.knowledge_base_id, r.version_id, r.projection, r.trace_id, r.fingerprint, r.fingerprint_epoch, r.admitted_at,
    r.finished_at, r.state, r.state in ('delivered', 'failed'), r.outcome
  from reservations as r where r.id = any (due);
  delete from ledger_outbox where reservation_id = any (due);
  return cardinality(due);
end $$;
