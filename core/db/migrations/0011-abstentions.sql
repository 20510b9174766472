-- Oldest release: 0.2.0
-- Why a request was answered with an abstention, without text: passages that the filters left, unsupported references by
-- reason, ids and scores of the first passages found. Rows are forgotten after 30 days, and erased with the key of the
-- request's fingerprint.
create table abstentions (
  reservation_id uuid primary key references reservations,
  recorded_at timestamptz not null default clock_timestamp(),
  grounds jsonb not null check (jsonb_typeof(grounds) = 'object' and octet_length(grounds::text) <= 2048)
);
create index abstentions_by_time on abstentions (recorded_at);

create function erase_abstentions() returns trigger language plpgsql security definer
  set search_path = public, pg_temp as $$
begin
  delete from abstentions as a using reservations as r
  where r.id = a.reservation_id and r.organization_id = new.organization_id and r.fingerprint_epoch = new.epoch;
  return null;
end $$;
create trigger erase_abstentions after update on fingerprint_keys for each row
  when (old.wrapped is not null and new.wrapped is null) execute function erase_abstentions();

-- As before, and with `grounds` of what abstains. Nothing is kept of a request whose key was erased meanwhile.
create or replace function record_deliveries(deliveries jsonb) returns setof uuid language plpgsql
  set search_path = public, pg_temp set enable_seqscan = off as $$
declare
  d record;
begin
  for d in
    select * from jsonb_to_recordset(deliveries) as x (id uuid, outcome jsonb, served jsonb, replay jsonb,
      grounds jsonb, "withinMs" double precision)
  loop
    update reservations as r set state = 'delivered', finished_at = coalesce(r.finished_at, clock_timestamp()),
      outcome = d.outcome, served = d.served, replay = d.replay
    where r.id = d.id and ((r.state = 'delivered' and r.outcome = d.outcome)
      or (r.state = 'open' and clock_timestamp() < r.reserved_at + make_interval(secs => d."withinMs" / 1000)));
    if found then
      if d.grounds is not null then
        insert into abstentions (reservation_id, grounds)
        select d.id, d.grounds from reservations as r join fingerprint_keys as f
          on f.organization_id = r.organization_id and f.epoch = r.fingerprint_epoch
        where r.id = d.id and f.wrapped is not null
        on conflict do nothing;
      end if;
      return next d.id;
    end if;
  end loop;
end $$;
grant insert (reservation_id, grounds) on abstentions to evidence_gateway;
grant select on abstentions to evidence_operator;
grant select (reservation_id, recorded_at), delete on abstentions to evidence_jobs;
