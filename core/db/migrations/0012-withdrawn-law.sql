-- Oldest release: 0.2.0
-- Digests of texts, labels and addresses that find the law of a withdrawal under another id, and what stood beside it.
create table withdrawn_law (
  withdrawal_id uuid primary key references withdrawals,
  version_id uuid not null references corpus_versions,
  is_other boolean not null, -- ended at once: other law than what was withdrawn before
  marks text[] not null check (cardinality(marks) > 0),
  beside text[] not null
);
create trigger keep_withdrawn_law before update or delete or truncate on withdrawn_law execute function keep_row();
grant select, insert on withdrawn_law to evidence_jobs, evidence_operator;
grant select (label, created_at) on withdrawals to evidence_jobs;
