-- Oldest release: 0.2.0
-- Reservations are written by one function, and what is settled can be refunded late, but not altered.

-- The cap of refunds counts the refunded requests of one day.
create index reservations_refunded on reservations (entitlement_id, admitted_at) where state = 'refunded';

create or replace function guard_reservation() returns trigger language plpgsql set search_path = public, pg_temp as $$
begin
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

-- As in migration 0005, with the rights of the owner: the gateway cannot insert in any other way.
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
    knowledge_base_id, version_id, profile_id, idempotency_digest, fingerprint, fingerprint_epoch, admitted_at,
    deadline_at, in_force_on, filters)
  select r.id, r.trace_id, r.organization_id, r.client_id, r.environment, r.api_key_id, r.entitlement_id, r.plan_id,
    r.knowledge_base_id, r.version_id, r.profile_id, decode(r.digests ->> 0, 'hex'), decode(r.fingerprint, 'hex'),
    r.fingerprint_epoch, to_timestamp(r.admitted_ms / 1000), to_timestamp(r.deadline_ms / 1000), r.in_force_on,
    r.filters
  from jsonb_to_recordset(requests) as r (id uuid, trace_id uuid, organization_id uuid, client_id uuid,
    environment text, api_key_id uuid, entitlement_id uuid, plan_id uuid, knowledge_base_id uuid, version_id uuid,
    profile_id uuid, digests jsonb, fingerprint text, fingerprint_epoch integer, admitted_ms double precision,
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

revoke insert on reservations from evidence_gateway;
