-- Oldest release: 0.1.0
-- Why a candidate that its evaluation found worse than the active version is activated all the same.
alter table activations add column override_reason text;
