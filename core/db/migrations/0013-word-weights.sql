-- Oldest release: 0.2.0
-- Weights of question words, which a question set taught; null: none. They stand beside the parameters, because gateways
-- read the parameters every few seconds for each key, and the weights of a profile once.

alter table retrieval_profiles add column word_weights jsonb check (octet_length(word_weights::text) <= 1048576);

grant select (word_weights) on retrieval_profiles to evidence_gateway;
grant insert (word_weights) on retrieval_profiles to evidence_jobs;
