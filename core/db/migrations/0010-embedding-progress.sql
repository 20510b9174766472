-- Oldest release: 0.2.0
-- The row of a build says what its embed stage has sent to the provider, and how long it will take.

alter table builds add column embedding jsonb check (octet_length(embedding::text) <= 1024);

grant update (embedding) on builds to evidence_jobs;
