import { z } from 'zod'
import { DATABASE_BOUNDS } from '#core/db/bounds.ts'
import type { ServedPassage } from '#core/domain/exposure.ts'
import { inTransaction } from './pool.ts'
import type { Database, Queryable } from './pool.ts'

/**
 * What the limit counters of an organization are rebuilt from. Every period is named by `admitted_at`, which is the
 * clock of Redis; no query reads another clock.
 */

/** The entitlement that a counter belongs to. */
interface Holder {
  readonly entitlementId: string
  readonly clientId: string
  readonly environment: string
  readonly knowledgeBaseId: string
}

const holderFields = {
  entitlement_id: z.string(),
  client_id: z.string(),
  environment: z.string(),
  knowledge_base_id: z.string(),
}

function holderOf(row: {
  entitlement_id: string
  client_id: string
  environment: string
  knowledge_base_id: string
}): Holder {
  return {
    entitlementId: row.entitlement_id,
    clientId: row.client_id,
    environment: row.environment,
    knowledgeBaseId: row.knowledge_base_id,
  }
}

/** Charged requests of one entitlement, admitted on one UTC day. */
export interface DayCount extends Holder {
  /** Days since 1970-01-01. */
  readonly day: number
  /** Year times 12, plus the month from 1. */
  readonly month: number
  readonly requests: number
}

/** Charged requests by UTC day from the start of the month before `$2`. Refunded requests do not count. */
const COUNT_BY_DAY = `
  select entitlement_id, client_id, environment, knowledge_base_id,
    floor(extract(epoch from admitted_at) / 86400)::int as day,
    (extract(year from admitted_at at time zone 'utc') * 12
      + extract(month from admitted_at at time zone 'utc'))::int as month,
    count(*)::int as requests
  from reservations
  where organization_id = $1 and state <> 'refunded'
    and admitted_at >= (date_trunc('month', to_timestamp($2::float8 / 1000) at time zone 'utc')
      - interval '1 month') at time zone 'utc'
  group by 1, 2, 3, 4, 5, 6`

const dayRow = z.object({ ...holderFields, day: z.int(), month: z.int(), requests: z.int() })

async function countByDay(
  database: Queryable,
  organizationId: string,
  redisNowMs: number,
): Promise<readonly DayCount[]> {
  const { rows } = await database.query(COUNT_BY_DAY, [organizationId, redisNowMs])
  return z
    .array(dayRow)
    .parse(rows)
    .map(({ day, month, requests, ...row }) => ({ ...holderOf(row), day, month, requests }))
}

export interface AdmittedRequest extends Holder {
  readonly id: string
  readonly admittedAtMs: number
  readonly deadlineAtMs: number
  readonly open: boolean
}

/**
 * Admissions of the minute before `$2`, and everything still open. Refunded ones are included, because a minute slot is
 * never returned.
 */
const RECENT_OR_OPEN = `
  select id, entitlement_id, client_id, environment, knowledge_base_id, state = 'open' as open,
    extract(epoch from admitted_at)::float8 * 1000 as admitted_ms,
    extract(epoch from deadline_at)::float8 * 1000 as deadline_ms
  from reservations
  where id in (
    select id from reservations
    where organization_id = $1 and admitted_at > to_timestamp($2::float8 / 1000) - interval '60 seconds'
    union
    select id from reservations where organization_id = $1 and state = 'open'
  )`

const admittedRow = z.object({
  ...holderFields,
  id: z.string(),
  admitted_ms: z.number(),
  deadline_ms: z.number(),
  open: z.boolean(),
})

async function readRecentOrOpen(
  database: Queryable,
  organizationId: string,
  redisNowMs: number,
): Promise<readonly AdmittedRequest[]> {
  const { rows } = await database.query(RECENT_OR_OPEN, [organizationId, redisNowMs])
  return z
    .array(admittedRow)
    .parse(rows)
    .map(({ id, open, admitted_ms, deadline_ms, ...row }) => ({
      ...holderOf(row),
      id,
      open,
      admittedAtMs: Math.round(admitted_ms),
      deadlineAtMs: Math.round(deadline_ms),
    }))
}

const ONE_SNAPSHOT = 'set transaction isolation level repeatable read, read only'

/**
 * Both from one snapshot: a request that is settled meanwhile is either counted and open, or neither. Its settlement in
 * Redis finds its lease in the first case, and nothing to change in the second.
 */
export async function countRequests(
  database: Database,
  organizationId: string,
  redisNowMs: number,
): Promise<{ readonly counts: readonly DayCount[]; readonly admitted: readonly AdmittedRequest[] }> {
  return inTransaction(database, async (client) => {
    await client.query(ONE_SNAPSHOT)
    return {
      counts: await countByDay(client, organizationId, redisNowMs),
      admitted: await readRecentOrOpen(client, organizationId, redisNowMs),
    }
  })
}

/** The longest exposure window among the plans that the organization's entitlements have now. */
const LONGEST_WINDOW = `
  select coalesce(max((p.limits -> 'exposure' ->> 'window_days')::int), 0) as days
  from entitlements as e join clients as c on c.id = e.client_id join plans as p on p.id = e.plan_id
  where c.organization_id = $1`

export async function longestExposureWindowDays(database: Queryable, organizationId: string): Promise<number> {
  const { rows } = await database.query(LONGEST_WINDOW, [organizationId])
  return z.object({ days: z.int() }).parse(rows[0]).days
}

/** A distinct passage of a document, when it was last served, and what was served of its document. */
export interface LastServed extends ServedPassage {
  readonly knowledgeBaseId: string
  /** When the request that served it last was admitted. */
  readonly atMs: number
  /** Distinct positions of the document, over all revisions. */
  readonly documentServed: number
  /** Longest run of adjacent ordinals of one revision of the document. */
  readonly documentRun: number
}

/**
 * Distinct passages served to an organization since an instant, except those that an operator has released. Aggregated
 * in Postgres, so the rows are as many as the passages and not as the requests. The total of a document is the one
 * served last. The rows of a document follow each other. One sort serves every window: `rank` numbers the positions of
 * a document, and within a run of neighbours it grows like the ordinal.
 */
const DECLARE_SERVED = `
  declare served no scroll cursor for
  with released as (
    select knowledge_base_id, max(released_at) as at from exposure_releases where organization_id = $1 group by 1
  ), last_served as (
    select r.knowledge_base_id, p.chunk, p.document collate "C" as document, p.revision collate "C" as revision,
      p.ordinal, max(array[(extract(epoch from r.admitted_at) * 1000)::bigint, p.total]) as last
    from reservations as r left join released on released.knowledge_base_id = r.knowledge_base_id
    cross join lateral jsonb_to_recordset(r.served)
      as p (chunk text, document text, revision text, ordinal int, total bigint)
    where r.organization_id = $1 and r.state = 'delivered' and r.admitted_at > to_timestamp($2::float8 / 1000)
      and (released.at is null or r.finished_at > released.at)
    group by 1, 2, 3, 4, 5
  ), numbered as (
    select *, dense_rank() over (partition by knowledge_base_id, document order by revision, ordinal)::int as rank
    from last_served
  ), in_runs as (
    select *, max(ordinal) over (partition by knowledge_base_id, document, revision, ordinal - rank)
      - min(ordinal) over (partition by knowledge_base_id, document, revision, ordinal - rank) + 1 as run
    from numbered
  )
  select knowledge_base_id, chunk, document, revision, ordinal, last[1]::float8 as at_ms,
    (max(last) over of_document)[2]::float8 as total, max(rank) over of_document as document_served,
    max(run) over of_document as document_run
  from in_runs window of_document as (partition by knowledge_base_id, document)`
const WHOLE_RESULT = 'set local cursor_tuple_fraction = 1'
/** The passages of a large organization are sorted in memory. */
const SORT_MEMORY = `set local work_mem = '${DATABASE_BOUNDS.rebuildSortKilobytes}kB'`
const FETCH = `fetch ${DATABASE_BOUNDS.rebuildBatchPassages} from served`

const servedRow = z
  .object({
    knowledge_base_id: z.string(),
    chunk: z.string(),
    document: z.string(),
    revision: z.string(),
    ordinal: z.number(),
    at_ms: z.number(),
    total: z.number(),
    document_served: z.number(),
    document_run: z.number(),
  })
  .transform(({ knowledge_base_id, at_ms, document_served, document_run, ...passage }): LastServed => ({
    ...passage,
    knowledgeBaseId: knowledge_base_id,
    atMs: at_ms,
    documentServed: document_served,
    documentRun: document_run,
  }))
const servedRows = z.array(servedRow)

/** Calls `take` with one bounded batch at a time. The rows of a document follow each other. */
export async function readServedSince(
  database: Database,
  organizationId: string,
  sinceMs: number,
  take: (passages: readonly LastServed[]) => Promise<void>,
): Promise<void> {
  await inTransaction(database, async (client) => {
    await client.query(WHOLE_RESULT)
    await client.query(SORT_MEMORY)
    await client.query(DECLARE_SERVED, [organizationId, sinceMs])
    for (;;) {
      const { rows } = await client.query(FETCH)
      if (rows.length === 0) return
      await take(servedRows.parse(rows))
    }
  })
}
