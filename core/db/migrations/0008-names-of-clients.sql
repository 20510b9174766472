-- Oldest release: 0.2.0
-- Metrics of a gateway name clients as operators do.
grant select (name) on clients to evidence_gateway;
