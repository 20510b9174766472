-- Oldest release: 0.2.0
-- The row of a build says why its last run ended and when the next one begins. A failed build can be asked for again.

alter table builds drop constraint builds_state_check;
alter table builds
  -- Runs that ended without a candidate since the build was asked for, and those of them that ran out of memory or
  -- whose worker gave no sign.
  add column failed_runs integer not null default 0 check (failed_runs >= 0),
  add column out_of_memory_runs integer not null default 0 check (out_of_memory_runs between 0 and failed_runs),
  add column lost_runs integer not null default 0 check (lost_runs between 0 and failed_runs),
  add column next_attempt_at timestamptz,
  add constraint builds_state_check check (state in ('queued', 'running', 'retrying', 'succeeded', 'failed')),
  add constraint builds_next_attempt_check check ((state = 'retrying') = (next_attempt_at is not null));

grant update (failed_runs, out_of_memory_runs, lost_runs, next_attempt_at) on builds to evidence_jobs;

-- The operator cannot write the state of a build. This is the one transition that it may ask for.
create function retry_build(build uuid, failed_within_ms bigint) returns boolean language plpgsql security definer
  set search_path = public, pg_temp as $$
begin
  update builds set state = 'queued', failed_runs = 0, out_of_memory_runs = 0, lost_runs = 0,
    updated_at = clock_timestamp()
  where id = build and state = 'failed'
    and updated_at > clock_timestamp() - make_interval(secs => failed_within_ms / 1000.0);
  return found;
end $$;
alter function retry_build(uuid, bigint) owner to evidence_migration;
revoke execute on function retry_build(uuid, bigint) from public;
grant execute on function retry_build(uuid, bigint) to evidence_operator;
