import type { Queryable } from './pool.ts'

/**
 * Copies finished reservations into the ledger. The ledger's key is the reservation, so a repeated or concurrent append
 * adds nothing. The state is read from the reservation, never from the job.
 */
const APPEND = `
insert into ledger (reservation_id, organization_id, client_id, environment, api_key_id, entitlement_id, plan_id,
  knowledge_base_id, version_id, profile_id,
  trace_id, fingerprint, fingerprint_epoch, admitted_at, finished_at, state, charged, outcome)
select id, organization_id, client_id, environment, api_key_id, entitlement_id, plan_id, knowledge_base_id, version_id,
  profile_id,
  trace_id, fingerprint, fingerprint_epoch, admitted_at, finished_at, state, state in ('delivered', 'failed'),
    coalesce(outcome, '{}')
from reservations
where id = any($1::uuid[]) and state <> 'open'
on conflict (reservation_id) do nothing`

/** @returns the number of new entries. */
export async function appendLedgerEntries(database: Queryable, reservationIds: readonly string[]): Promise<number> {
  const { rowCount } = await database.query({ name: 'append-ledger', text: APPEND, values: [reservationIds] })
  return rowCount ?? 0
}
