-- Oldest release: 0.2.0
-- A knowledge base that an operator creates has its public source trace on.
grant insert (traced) on knowledge_bases to evidence_operator;
