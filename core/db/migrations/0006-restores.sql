-- Oldest release: 0.2.0
-- Restores of an earlier state that an operator accepted: what was confirmed until then may be missing.
create table restores (
  id uuid primary key,
  accepted_at timestamptz not null default now(),
  -- Clock of Redis, ms since 1970-01-01.
  confirmed_until_ms double precision not null
);
grant select, insert (id, confirmed_until_ms) on restores to evidence_operator;
-- The job worker copies the end of the audit trail to Redis, without who acted and details.
grant select (seq, at, action, subject, hash) on audit to evidence_jobs;

-- Fails with EV001 where something is missing that was confirmed after its commit: `known` has `id` and `ms` of a
-- reservation, and `seq` and `hash` of an audit entry, or lacks either pair. Both are found by their primary key,
-- whatever the tables held when the plan was made.
create function refuse_restored(known jsonb) returns void language plpgsql stable security definer
  set search_path = public, pg_temp set enable_seqscan = off as $$
begin
  if ((known ->> 'ms')::double precision > coalesce((select max(confirmed_until_ms) from restores), 0)
      and not exists (select from reservations where id = (known ->> 'id')::uuid))
    or (known ? 'seq' and not exists (
      select from audit where seq = (known ->> 'seq')::bigint and hash = decode(known ->> 'hash', 'hex')))
  then
    raise exception 'what was committed is missing' using errcode = 'EV001';
  end if;
end $$;
grant execute on function refuse_restored(jsonb) to evidence_gateway, evidence_operator;
