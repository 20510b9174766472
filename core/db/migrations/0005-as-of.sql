-- Oldest release: 0.2.0
-- The day on which law must be in force to be served; null: the day of each request. It never changes.
alter table knowledge_bases add column as_of date;
create function keep_as_of() returns trigger language plpgsql set search_path = public, pg_temp as $$
begin
  raise exception 'the day of a knowledge base is never changed' using errcode = 'check_violation';
end $$;
create trigger keep_as_of before update on knowledge_bases for each row
  when (new.as_of is distinct from old.as_of) execute function keep_as_of();
grant insert (as_of) on knowledge_bases to evidence_operator;
grant select (as_of) on knowledge_bases to evidence_jobs;
