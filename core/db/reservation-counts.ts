import { z } from 'zod'
import { DATABASE_BOUNDS } from '#core/db/bounds.ts'
import { inTransaction, type Database, type Queryable } from './pool.ts'
import { execute, rowsOf, valueOf } from './rows.ts'

/**
 * What the limit counters of an organization are rebuilt from. Every period is named by `admitted_at`, which is the
 * clock of Redis; no query reads another clock.
 */

/** The entitlement that a counter belongs to. */
const holderRow = z.object({
  entitlementId: z.string(),
  clientId: z.string(),
  environment: z.string(),
  knowledgeBaseId: z.string(),
})
const HOLDER = `entitlement_id as "entitlementId", client_id as "clientId", environment,
    knowledge_base_id as "knowledgeBaseId"`

const dayRow = holderRow.extend({
  /** Days since 1970-01-01. */
  day: z.int(),
  /** Year times 12, plus the month from 1. */
  month: z.int(),
  requests: z.int(),
})
/** Charged requests of one entitlement, admitted on one UTC day. */
export type DayCount = z.infer<typeof dayRow>

/** Charged requests by UTC day from the start of the month before `$2`. Refunded requests do not count. */
const countByDay = rowsOf(dayRow)<[organizationId: string, redisNowMs: number]>`
  select ${HOLDER},
    floor(extract(epoch from admitted_at) / 86400)::int as day,
    (extract(year from admitted_at at time zone 'utc') * 12
      + extract(month from admitted_at at time zone 'utc'))::int as month,
    count(*)::int as requests
  from reservations
  where organization_id = $1 and state <> 'refunded'
    and admitted_at >= (date_trunc('month', to_timestamp($2::float8 / 1000) at time zone 'utc')
      - interval '1 month') at time zone 'utc'
  group by 1, 2, 3, 4, 5, 6`

const milliseconds = z.number().transform(Math.round)
const admittedRow = holderRow.extend({
  id: z.string(),
  admittedAtMs: milliseconds,
  deadlineAtMs: milliseconds,
  open: z.boolean(),
})
export type AdmittedRequest = z.infer<typeof admittedRow>

/**
 * Admissions of the minute before `$2`, and everything still open. Refunded ones are included, because a minute slot is
 * never returned.
 */
const recentOrOpen = rowsOf(admittedRow)<[organizationId: string, redisNowMs: number]>`
  select id, ${HOLDER}, state = 'open' as open,
    extract(epoch from admitted_at)::float8 * 1000 as "admittedAtMs",
    extract(epoch from deadline_at)::float8 * 1000 as "deadlineAtMs"
  from reservations
  where id in (
    select id from reservations
    where organization_id = $1 and admitted_at > to_timestamp($2::float8 / 1000) - interval '60 seconds'
    union
    select id from reservations where organization_id = $1 and state = 'open'
  )`

const inOneSnapshot = execute`set transaction isolation level repeatable read, read only`

/**
 * Both from one snapshot: a request that is settled meanwhile is either counted and open, or neither. Its settlement in
 * Redis finds its lease in the first case, and nothing to change in the second.
 */
export async function countRequests(database: Database, organizationId: string, redisNowMs: number) {
  return inTransaction(database, async (client) => {
    await inOneSnapshot(client)
    return {
      counts: await countByDay(client, organizationId, redisNowMs),
      admitted: await recentOrOpen(client, organizationId, redisNowMs),
    }
  })
}

/** The longest exposure window among the plans that the organization's entitlements have now. */
export const longestExposureWindowDays = valueOf(z.int())<[organizationId: string]>`
  select coalesce(max((p.limits -> 'exposure' ->> 'window_days')::int), 0) as days
  from entitlements as e join clients as c on c.id = e.client_id join plans as p on p.id = e.plan_id
  where c.organization_id = $1`

/**
 * Passages served or shown to an organization, except those that an operator has released. Aggregated in Postgres, so the rows
 * are as many as the passages and not as the requests. Whether a passage was new on the first days of the window
 * depends on a window before. $2: now in ms, $3: the window in days. The rows of a document follow each other, the one
 * that was new last at the end.
 */
const SERVED = `
  with released as (
    select environment, knowledge_base_id, max(released_at) as at from exposure_releases where organization_id = $1
    group by 1, 2
  ), replies as (
    select environment, knowledge_base_id, served, admitted_at, finished_at from reservations
    where organization_id = $1 and state = 'delivered'
    union all
    select environment, knowledge_base_id, passages, shown_at, shown_at from shown_passages where organization_id = $1
  ), served as (
    select r.environment, r.knowledge_base_id, p.chunk, p.document collate "C" as document, p.total,
      (extract(epoch from r.admitted_at) * 1000)::bigint as at_ms,
      lag((extract(epoch from r.admitted_at) * 1000)::bigint) over (
        partition by r.environment, r.knowledge_base_id, p.chunk order by r.admitted_at) as before_ms
    from replies as r left join released
      on released.knowledge_base_id = r.knowledge_base_id and released.environment = r.environment
    cross join lateral jsonb_to_recordset(r.served) as p (chunk text, document text, total bigint)
    where r.admitted_at > to_timestamp($2::float8 / 1000 - ($3::int * 2 + 1) * 86400.0)
      and (released.at is null or r.finished_at > released.at)
  ), judged as (
    select *, at_ms / 86400000 >= floor($2::float8 / 86400000) - $3::int
      and (before_ms is null or before_ms <= at_ms - $3::int * 86400000::bigint) as is_new
    from served
  )
  select environment, knowledge_base_id, chunk, max(document) as document, max(at_ms)::float8 as at_ms,
    max(array[at_ms, total]) filter (where is_new) as last_new,
    coalesce(array_agg((at_ms / 86400000)::int order by at_ms) filter (where is_new), '{}') as new_on
  from judged group by 1, 2, 3
  having max(at_ms) / 86400000 >= floor($2::float8 / 86400000) - $3::int
  order by 1, 2, 4, last_new nulls first`

const servedRow = z
  .object({
    environment: z.string(),
    knowledge_base_id: z.string(),
    chunk: z.string(),
    document: z.string(),
    at_ms: z.number(),
    /** Instant and total; Postgres sends a bigint as text. */
    last_new: z.tuple([z.coerce.number(), z.coerce.number()]).nullable(),
    new_on: z.array(z.int()),
  })
  .transform(({ knowledge_base_id, at_ms, last_new, new_on, ...passage }) => ({
    ...passage,
    knowledgeBaseId: knowledge_base_id,
    /** Passages of the document in the version that served this one last as new; 0: it was not new in the window. */
    total: last_new?.[1] ?? 0,
    /** When the request that served it last was admitted. */
    atMs: at_ms,
    /** UTC days of the window, since 1970-01-01, on which it was new: not served for a window before. */
    newOn: new_on,
  }))
export type CountedPassage = z.infer<typeof servedRow>

const expectWholeResult = execute`set local cursor_tuple_fraction = 1`
/** The passages of a large organization are sorted in memory. */
const sortInMemory = execute`set local work_mem = '${String(DATABASE_BOUNDS.rebuildSortKilobytes)}kB'`
const declareServed = execute<[organizationId: string, nowMs: number, windowDays: number]>`
  declare served no scroll cursor for ${SERVED}`
const fetchServed = rowsOf(servedRow)`fetch ${String(DATABASE_BOUNDS.rebuildBatchPassages)} from served`

/** Calls `take` with one bounded batch at a time. The rows of a document follow each other. */
export async function readServed(
  database: Database,
  organizationId: string,
  { nowMs, windowDays }: { readonly nowMs: number; readonly windowDays: number },
  take: (passages: readonly CountedPassage[]) => Promise<void>,
): Promise<void> {
  await inTransaction(database, async (client) => {
    await expectWholeResult(client)
    await sortInMemory(client)
    await declareServed(client, organizationId, nowMs, windowDays)
    for (;;) {
      const passages = await fetchServed(client)
      if (passages.length === 0) return
      await take(passages)
    }
  })
}

const newRow = z.object({
  environment: z.string(),
  knowledge_base_id: z.string(),
  document: z.string(),
  day: z.int(),
  passages: z.number(),
  document_passages: z.number(),
})
/** New passages of one document on one UTC day. */
export type NewPassages = z.infer<typeof newRow>

const newByDay = rowsOf(newRow)<[organizationId: string, nowMs: number, windowDays: number]>`
  select environment, knowledge_base_id, document, day, count(*)::float8 as passages,
    coalesce(max((last_new)[2]), 0)::float8 as document_passages
  from (${SERVED}) as served cross join unnest(new_on) as day group by 1, 2, 3, 4 order by 1, 2, 3, 4`

/** What the counters of the organization are rebuilt from, summed by document and day of the longest window. */
export async function readNewByDay(
  database: Queryable,
  organizationId: string,
  nowMs: number,
): Promise<readonly NewPassages[]> {
  return newByDay(database, organizationId, nowMs, await longestExposureWindowDays(database, organizationId))
}
