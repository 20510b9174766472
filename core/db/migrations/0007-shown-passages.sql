-- Oldest release: 0.2.0
-- Passages that a page shows to whoever has the access of an organization, beside the replies of gateways. They count as
-- its exposure: `passages` has the form of `reservations.served`.
create table shown_passages (
  id uuid primary key,
  organization_id uuid not null references organizations,
  knowledge_base_id uuid not null references knowledge_bases,
  environment text not null check (environment in ('test', 'live')),
  shown_at timestamptz not null default now(),
  passages jsonb not null check (jsonb_typeof(passages) = 'array')
);
create index shown_passages_by_exposure on shown_passages (organization_id, shown_at);
grant select (organization_id, knowledge_base_id, environment, shown_at, passages) on shown_passages
  to evidence_gateway, evidence_operator;
grant insert (id, organization_id, knowledge_base_id, environment, passages) on shown_passages to evidence_operator;
