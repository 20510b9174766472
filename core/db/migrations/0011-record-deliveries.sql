-- Oldest release: 0.2.0
-- Outcomes are recorded by a function, so that their statement is planned once for each connection.

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

alter function record_deliveries(jsonb) owner to evidence_migration;
revoke execute on function record_deliveries(jsonb) from public;
grant execute on function record_deliveries(jsonb) to evidence_gateway;
