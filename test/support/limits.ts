import { createHash, randomBytes, randomUUID } from 'node:crypto'
import type { Queryable } from '#core/db/pool.ts'
import type { Replay } from '#core/db/reservations.ts'
import type { PlanLimits } from '#core/domain/quota-plan.ts'
import type { Filters } from '#core/domain/search.ts'
import type { Candidate } from '#core/limits/admission.ts'
import type { LimitScope } from '#core/limits/counter-keys.ts'

/** For requests of tests that search nothing. */
export const NO_FILTERS: Filters = {
  languages: [],
  jurisdictions: [],
  subjects: [],
  anySubject: true,
  verificationStatuses: [],
  inForceOn: '',
  documents: [],
}
export const NO_REPLAY: Replay = {
  rewriting_digests: [],
  query_vector_digest: '',
  passage_sha256: [],
  rerank_order: null,
}

/** A request of an entitlement, with the digest of an Idempotency-Key if it has one. */
export function createCandidate(
  { scope, planId, limits }: { readonly scope: LimitScope; readonly planId: string; readonly limits: PlanLimits },
  more: { readonly corpusPassages: number; readonly limits?: PlanLimits; readonly key?: string },
): Candidate {
  const id = randomUUID()
  return {
    ...scope,
    id,
    traceId: id,
    apiKeyId: id,
    planId,
    versionId: id,
    projection: '00'.repeat(32),
    inForceOn: '2026-01-01',
    filters: NO_FILTERS,
    entitled: NO_FILTERS,
    limits: more.limits ?? limits,
    topK: 0,
    corpusPassages: more.corpusPassages,
    exposureAllowance: 0,
    idempotencyDigests: more.key === undefined ? [] : [createHash('sha256').update(more.key).digest()],
    fingerprint: () => ({ fingerprint: randomBytes(32), fingerprintEpoch: 1, requestDigest: undefined }),
  }
}

export interface TestReservation {
  readonly state?: 'open' | 'delivered' | 'refunded' | 'failed'
  /** Before now. */
  readonly deadlineAgoMs?: number
  readonly finishedAgoMs?: number
}

const INSERT = `
insert into reservations (id, trace_id, organization_id, client_id, environment, api_key_id, entitlement_id, plan_id,
  knowledge_base_id, version_id, fingerprint, fingerprint_epoch, admitted_at, deadline_at, in_force_on,
  filters)
select id, gen_random_uuid(), $2, $2, 'test', $2, $2, $2, $2, $2, $3, 1,
  now() - make_interval(secs => ($4 + 20000) / 1000.0), now() - make_interval(secs => $4 / 1000.0), current_date, '{}'
from unnest($1::uuid[]) as ids (id)`

const SETTLE = `
update reservations set state = $2, finished_at = now() - make_interval(secs => $3 / 1000.0),
  outcome = '{"result_count": 5}', served = case when $2 = 'delivered' then '[]'::jsonb end
where id = any($1)`

const AGE_OUTBOX =
  'update ledger_outbox set added_at = now() - make_interval(secs => $2 / 1000.0) where reservation_id = any($1)'

/** Reservations as a gateway leaves them, `count` alike. @returns their ids. */
export async function insertReservations(
  database: Queryable,
  count: number,
  { state = 'delivered', deadlineAgoMs = 0, finishedAgoMs = 0 }: TestReservation = {},
): Promise<readonly string[]> {
  const ids = Array.from({ length: count }, () => randomUUID())
  await database.query(INSERT, [ids, randomUUID(), randomBytes(32), deadlineAgoMs])
  if (state !== 'open') {
    await database.query(SETTLE, [ids, state, finishedAgoMs])
    await database.query(AGE_OUTBOX, [ids, finishedAgoMs])
  }
  return ids
}

export async function ledgerIds(database: Queryable): Promise<readonly string[]> {
  const { rows } = await database.query<{ reservation_id: string }>(
    'select reservation_id from ledger order by reservation_id',
  )
  return rows.map((row) => row.reservation_id)
}

/** The clock of Redis, moved by the milliseconds that this key holds: Lua text for `openCounters`. */
export const CLOCK_KEY = 'test:clock'

export const MOVED_CLOCK = `
local function now_ms()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
    + tonumber(redis.call('GET', '${CLOCK_KEY}') or 0)
end
`
