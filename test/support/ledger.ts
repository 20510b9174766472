import { z } from 'zod'
import { Redis } from 'ioredis'
import type { Database } from '#core/db/pool.ts'
import { QUEUE_BOUNDS } from '#core/queues/bounds.ts'
import { LEDGER_QUEUE, QUEUE_PREFIX } from '#core/queues/ledger-queue.ts'
import { until } from './until.ts'
import type { Answer } from './http.ts'

const ledgerRowSchema = z.object({
  /** As the caller sees it. */
  request_id: z.string(),
  api_key_id: z.string(),
  state: z.enum(['open', 'delivered', 'refunded', 'failed']),
  entry: z.enum(['delivered', 'refunded', 'failed']).nullable(),
  charged: z.boolean().nullable(),
  result_count: z.number().nullable(),
  response_bytes: z.number().nullable(),
})

/** One reservation beside its ledger entry. */
export type LedgerRow = z.infer<typeof ledgerRowSchema>

const LEDGER_ROWS = `
  select 'req_' || r.id as request_id, r.api_key_id, r.state, l.state as entry, l.charged,
    (l.outcome ->> 'result_count')::int as result_count, (l.outcome ->> 'response_bytes')::int as response_bytes
  from reservations r left join ledger l on l.reservation_id = r.id
  where r.entitlement_id = $1 order by r.admitted_at`

export async function ledgerRowsOf(owner: Database, entitlementId: string): Promise<readonly LedgerRow[]> {
  return z.array(ledgerRowSchema).parse((await owner.query(LEDGER_ROWS, [entitlementId])).rows)
}

const LATE = `
  update ledger_outbox set added_at = clock_timestamp() - make_interval(secs => $2::float8 / 1000)
  where added_at > clock_timestamp() - make_interval(secs => $2::float8 / 1000)
    and reservation_id in (select id from reservations where entitlement_id = $1)`

/**
 * The ledger once every reservation has its ledger entry and none is open. With `lost`, settled reservations are at
 * once so old that the sweeper takes their ledger jobs for lost.
 */
export async function settledLedgerRows(
  owner: Database,
  entitlementId: string,
  jobs: 'come' | 'lost' = 'come',
): Promise<readonly LedgerRow[]> {
  return until('every reservation is settled and in the ledger', async (seen) => {
    if (jobs === 'lost') await owner.query(LATE, [entitlementId, QUEUE_BOUNDS.ledgerJobLostAfterMs])
    const ledger = await ledgerRowsOf(owner, entitlementId)
    seen(ledger.filter(({ entry }) => entry !== null).length)
    return ledger.every(({ entry }) => entry !== null) && ledger
  })
}

/** Resolves once ledger jobs in Redis name each of these requests. */
export async function ledgerJobsQueued(redisUrl: string, answers: readonly Answer[]): Promise<void> {
  const ids = answers.map((answer) => answer.retrieved().request_id.slice('req_'.length))
  using ending = new DisposableStack()
  const redis = ending.adopt(new Redis(redisUrl), (it) => it.disconnect())
  await until('the ledger jobs are queued', async () => {
    // A job that a worker has taken has a lock beside it, which is no hash.
    const keys = (await redis.keys(`${QUEUE_PREFIX}:${LEDGER_QUEUE}:[0-9]*`)).filter((key) => /:\d+$/.test(key))
    const payloads = await Promise.all(keys.map((key) => redis.hget(key, 'data')))
    return ids.every((id) => payloads.some((payload) => payload?.includes(id)))
  })
}

/** Requests that are left of each window, as a reply's RateLimit header says. */
export function remaining(headers: Headers): { readonly minute: number; readonly day: number; readonly month: number } {
  const left = (window: string): number =>
    Number(new RegExp(`"${window}";r=(\\d+)`).exec(headers.get('ratelimit') ?? '')?.[1] ?? Number.NaN)
  return { minute: left('minute'), day: left('day'), month: left('month') }
}
