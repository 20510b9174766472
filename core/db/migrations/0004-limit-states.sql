-- Oldest release: 0.2.0
-- Epochs that are never used twice, transitions of reservations, and the outbox of the ledger.

-- An epoch is a random id: a restored database cannot give out one that Redis already knows. Counters are rebuilt once.
drop trigger access_changed on limit_epochs;
alter table limit_epochs alter column epoch drop default;
alter table limit_epochs alter column epoch type uuid using gen_random_uuid();

-- The clock of Postgres at the reservation: an outcome may be recorded only for a bounded time after it.
alter table reservations add column reserved_at timestamptz not null default clock_timestamp();

-- The outbox: settled reservations without a ledger entry. Settlement adds a row, the entry removes it.
create table ledger_outbox (
  reservation_id uuid primary key references reservations,
  added_at timestamptz not null default clock_timestamp()
);
insert into ledger_outbox (reservation_id)
  select r.id from reservations r
  where r.state <> 'open' and not exists (select from ledger l where l.reservation_id = r.id);
drop table ledger_watermark;
drop index reservations_finished;

-- A reservation begins open and is settled once. A delivered one may still be refunded while its caller was refused and
-- it has no ledger entry. Nothing else of a settled reservation changes.
create function guard_reservation() returns trigger language plpgsql set search_path = public, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    if new.state <> 'open' or new.finished_at is not null or new.outcome is not null or new.served is not null then
      raise exception 'a reservation begins open';
    end if;
  elsif old.state = 'open' then
    if new.state <> 'open' and (new.finished_at is null or new.outcome is null
      or (new.state = 'delivered') <> (new.served is not null)) then
      raise exception 'a settled reservation has a time and an outcome, and passages only where it was delivered';
    end if;
  elsif old.state = 'delivered' and new.state = 'refunded' then
    if not exists (select from ledger_outbox where reservation_id = new.id) then
      raise exception 'the reservation is in the ledger';
    end if;
  elsif new is distinct from old then
    raise exception 'a settled reservation does not change';
  end if;
  return new;
end $$;
create trigger guard_reservation before insert or update on reservations
  for each row execute function guard_reservation();

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
    knowledge_base_id, version_id, profile_id, trace_id, fingerprint, fingerprint_epoch, admitted_at, finished_at,
    state, charged, outcome)
  select r.id, r.organization_id, r.client_id, r.environment, r.api_key_id, r.entitlement_id, r.plan_id,
    r.knowledge_base_id, r.version_id, r.profile_id, r.trace_id, r.fingerprint, r.fingerprint_epoch, r.admitted_at,
    r.finished_at, r.state, r.state in ('delivered', 'failed'), r.outcome
  from reservations as r where r.id = any (due);
  delete from ledger_outbox where reservation_id = any (due);
  return cardinality(due);
end $$;

-- Reserves charged requests. The first statement takes each organization's shared lock without waiting; a rebuild of
-- its counters takes it exclusively before it moves the epoch. The second statement has a later snapshot, so it sees
-- every epoch that was moved before the lock. `digests` holds the digest of the Idempotency-Key under each service
-- secret, the one to store first; gateways whose secrets have another order meet in the lock on their least digest.
-- Returns the ids of the reserved requests. The others name another epoch, or a key that is held.
create function reserve_requests(requests jsonb)
  returns setof uuid language plpgsql set search_path = public, pg_temp as $$
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
    deadline_at, in_force_on)
  select r.id, r.trace_id, r.organization_id, r.client_id, r.environment, r.api_key_id, r.entitlement_id, r.plan_id,
    r.knowledge_base_id, r.version_id, r.profile_id, decode(r.digests ->> 0, 'hex'), decode(r.fingerprint, 'hex'),
    r.fingerprint_epoch, to_timestamp(r.admitted_ms / 1000), to_timestamp(r.deadline_ms / 1000), r.in_force_on
  from jsonb_to_recordset(requests) as r (id uuid, trace_id uuid, organization_id uuid, client_id uuid,
    environment text, api_key_id uuid, entitlement_id uuid, plan_id uuid, knowledge_base_id uuid, version_id uuid,
    profile_id uuid, digests jsonb, fingerprint text, fingerprint_epoch integer, admitted_ms double precision,
    deadline_ms double precision, in_force_on date, epoch uuid, redis_run_id text)
  join limit_epochs as e
    on e.organization_id = r.organization_id and e.epoch = r.epoch and e.redis_run_id = r.redis_run_id
  where r.organization_id = any (locked) and (r.digests ->> 1 is null or not exists (
    select from reservations as held where held.client_id = r.client_id and held.environment = r.environment
      and held.idempotency_digest = decode(r.digests ->> 1, 'hex') and held.state <> 'refunded'))
  order by r.client_id, r.digests ->> 0
  on conflict do nothing
  returning reservations.id;
end $$;

-- Rights -------------------------------------------------------------------------------------------------------------

alter table ledger_outbox owner to evidence_migration;
alter function guard_reservation() owner to evidence_migration;
alter function request_ledger_entry() owner to evidence_migration;
alter function reserve_requests(jsonb) owner to evidence_migration;
alter function append_ledger(uuid[]) owner to evidence_migration;
revoke all on function guard_reservation(), request_ledger_entry(), reserve_requests(jsonb), append_ledger(uuid[])
  from public;
grant execute on function reserve_requests(jsonb) to evidence_gateway;
grant execute on function append_ledger(uuid[]) to evidence_jobs;
grant select (reserved_at) on reservations to evidence_gateway;
-- A lock on an outbox row needs the right to update a column of it.
grant select, update (added_at) on ledger_outbox to evidence_gateway, evidence_jobs;
revoke all on ledger, limit_epochs from evidence_jobs;
-- The job worker refunds what is overdue, and no longer copies reservations into the ledger itself.
revoke select on reservations from evidence_jobs;
grant select (id, organization_id, client_id, environment, entitlement_id, plan_id, knowledge_base_id,
  idempotency_digest, admitted_at, deadline_at, state) on reservations to evidence_jobs;
