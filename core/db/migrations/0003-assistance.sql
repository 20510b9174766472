-- Oldest release: 0.2.0
-- Whether a chat model may see the questions of an entitlement, and the passages that they find. Entitlements whose
-- active version is read by a chat model keep what was in force.
alter table entitlements add column assistance boolean not null default false;
update entitlements as e set assistance = true
from active_versions as a join corpus_versions as v on v.id = a.version_id
where a.knowledge_base_id = e.knowledge_base_id and v.profile -> 'reader' ->> 'kind' = 'chat';
grant select (assistance) on entitlements to evidence_gateway;
grant insert (assistance), update (assistance) on entitlements to evidence_operator;
