-- Oldest release: 0.2.0
-- The role of backups reads every table, those of later migrations too. As the other roles it is created by the login of
-- the migration.
set local role none;
do $$ begin
  create role evidence_backup nologin;
exception when duplicate_object or unique_violation then null;
end $$;
grant usage on schema public to evidence_backup;
set local role evidence_migration;
grant select on all tables in schema public to evidence_backup;
alter default privileges for role evidence_migration in schema public grant select on tables to evidence_backup;
