-- Oldest release: 0.2.0
-- A request writes less: one index fewer, and no compression of what a delivery records.

-- No statement reads it: the refunds of a day have an index of their own, and a rebuild reads by organization.
drop index reservations_by_entitlement;

-- A row of more than 2 kB would be compressed, and its largest columns stored elsewhere with an index of theirs. That is
-- a fifth of the time of a delivery.
alter table reservations set (toast_tuple_target = 8160);
