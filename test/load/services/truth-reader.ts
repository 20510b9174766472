import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { z } from 'zod'
import { entitlementKeys } from '#core/limits/counter-keys.ts'
import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import type { Database } from '#core/db/pool.ts'
import { JOB_BOUNDS } from '#jobs/platform/bounds.ts'
import type { Counters, Reservation, Tenant, Truth } from '../evidence.ts'
import type { Installation } from './installation.ts'

const POLL_MS = 50
/** After the hard deadline: two rounds of the sweeper, which settles what a killed gateway left, and the ledger. */
const SETTLE_MARGIN_MS = 2 * JOB_BOUNDS.sweepEveryMs + 5_000

const reservationRow = z
  .object({
    id: z.string(),
    entitlement_id: z.string(),
    admitted_ms: z.number(),
    deadline_ms: z.number(),
    finished_ms: z.number().nullable(),
    state: z.enum(['open', 'delivered', 'refunded', 'failed']),
    served: z
      .array(
        z.object({
          chunk: z.string(),
          document: z.string(),
          total: z.number(),
        }),
      )
      .nullable(),
    ledger: z.array(z.object({ state: z.string(), charged: z.boolean() })).nullable(),
  })
  .transform((row): Reservation => ({
    id: row.id,
    entitlementId: row.entitlement_id,
    admittedAtMs: Math.round(row.admitted_ms),
    deadlineAtMs: Math.round(row.deadline_ms),
    finishedAtMs: row.finished_ms,
    state: row.state,
    served: row.served ?? [],
    ledger: row.ledger ?? [],
  }))

/** One row a reservation, with all its ledger entries, so that a second or a missing one shows. */
const RESERVATIONS = `
  select r.id, r.entitlement_id, r.state, r.served,
    extract(epoch from r.admitted_at)::float8 * 1000 as admitted_ms,
    extract(epoch from r.deadline_at)::float8 * 1000 as deadline_ms,
    extract(epoch from r.finished_at)::float8 * 1000 as finished_ms,
    (select json_agg(json_build_object('state', l.state, 'charged', l.charged)) from ledger l
      where l.reservation_id = r.id) as ledger
  from reservations r where r.entitlement_id = any($1::uuid[]) order by r.admitted_at`

const UNSETTLED = `
  select count(*)::int as unsettled from reservations r
  where r.entitlement_id = any($1::uuid[]) and (r.state = 'open'
    or exists (select from ledger_outbox o where o.reservation_id = r.id))`

const EPOCH = 'select epoch from limit_epochs where organization_id = $1'
const PASSAGES = 'select max(passages)::int as passages from corpus_versions'

/** Waits until everything of these tenants is settled, or can be no more, and reads what the service recorded. */
export async function readTruth(
  { owner, settings }: Pick<Installation, 'owner' | 'settings'>,
  tenants: readonly Tenant[],
  lastEndMs: number,
): Promise<Truth> {
  const entitlements = tenants.map(({ entitlementId }) => entitlementId)
  const redis = new Redis(settings.redisUrl)
  try {
    let counters: readonly Counters[] = []
    let settledAfterMs: number | null = null
    for (;;) {
      const sinceMs = Date.now() - lastEndMs
      const { unsettled } = one(z.object({ unsettled: z.number() }), await owner.query(UNSETTLED, [entitlements]))
      counters = await Promise.all(tenants.map((tenant) => readCounters(owner, redis, tenant)))
      if (unsettled === 0 && counters.every(({ leases }) => leases === 0)) {
        settledAfterMs = Math.max(0, sinceMs)
        break
      }
      if (sinceMs > PLATFORM_BOUNDS.hardDeadlineMs + SETTLE_MARGIN_MS) break
      await sleep(POLL_MS)
    }
    const { rows } = await owner.query(RESERVATIONS, [entitlements])
    const { passages } = one(z.object({ passages: z.number() }), await owner.query(PASSAGES))
    return {
      reservations: z.array(reservationRow).parse(rows),
      counters,
      settledAfterMs,
      corpusPassages: passages,
    }
  } finally {
    redis.disconnect()
  }
}

function one<T>(schema: z.ZodType<T>, { rows }: { readonly rows: readonly unknown[] }): T {
  return schema.parse(rows[0])
}

async function readCounters(
  owner: Database,
  redis: Redis,
  { organizationId, entitlementId }: Tenant,
): Promise<Counters> {
  const { rows } = await owner.query(EPOCH, [organizationId])
  const [row] = z.array(z.object({ epoch: z.string() })).parse(rows)
  if (row === undefined) return { entitlementId, leases: 0, counts: {} }
  const keys = entitlementKeys(organizationId, row.epoch, entitlementId)
  const counts = await redis.hgetall(keys.counts)
  return {
    entitlementId,
    leases: await redis.zcard(keys.leases),
    counts: Object.fromEntries(Object.entries(counts).map(([name, value]) => [name, Number(value)])),
  }
}
