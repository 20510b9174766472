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

const reservationRow: z.ZodType<Reservation> = z.object({
  id: z.string(),
  entitlementId: z.string(),
  admittedAtMs: z.number(),
  deadlineAtMs: z.number(),
  finishedAtMs: z.number().nullable(),
  state: z.enum(['open', 'delivered', 'refunded', 'failed']),
  served: z.array(z.object({ chunk: z.string(), document: z.string(), total: z.number() })),
  ledger: z.array(z.object({ state: z.string(), charged: z.boolean() })),
})

const msOf = (column: string): string => `extract(epoch from r.${column})::float8 * 1000`

/** One row a reservation, with all its ledger entries, so that a second or a missing one shows. */
const RESERVATIONS = `
  select r.id, r.entitlement_id as "entitlementId", r.state, coalesce(r.served, '[]') as served,
    round(${msOf('admitted_at')}) as "admittedAtMs", round(${msOf('deadline_at')}) as "deadlineAtMs",
    ${msOf('finished_at')} as "finishedAtMs",
    (select coalesce(json_agg(json_build_object('state', l.state, 'charged', l.charged)), '[]') from ledger l
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
  using ending = new DisposableStack()
  const redis = ending.adopt(new Redis(settings.redisUrl), (it) => it.disconnect())
  for (;;) {
    const sinceMs = Date.now() - lastEndMs
    const { rows: waiting } = await owner.query<{ unsettled: number }>(UNSETTLED, [entitlements])
    const counters = await Promise.all(tenants.map((tenant) => readCounters(owner, redis, tenant)))
    const settled = waiting[0]?.unsettled === 0 && counters.every(({ leases }) => leases === 0)
    if (settled || sinceMs > PLATFORM_BOUNDS.hardDeadlineMs + SETTLE_MARGIN_MS) {
      const { rows } = await owner.query(RESERVATIONS, [entitlements])
      const { rows: versions } = await owner.query<{ passages: number }>(PASSAGES)
      return {
        reservations: z.array(reservationRow).parse(rows),
        counters,
        settledAfterMs: settled ? Math.max(0, sinceMs) : null,
        corpusPassages: versions[0]?.passages ?? 0,
      }
    }
    await sleep(POLL_MS)
  }
}

async function readCounters(owner: Database, redis: Redis, tenant: Tenant): Promise<Counters> {
  const { organizationId, entitlementId } = tenant
  const { rows } = await owner.query<{ epoch: string }>(EPOCH, [organizationId])
  const [row] = rows
  if (row === undefined) return { entitlementId, leases: 0, counts: {} }
  const keys = entitlementKeys(organizationId, row.epoch, entitlementId)
  const counts = Object.entries(await redis.hgetall(keys.counts)).map(([name, count]) => [name, Number(count)] as const)
  return { entitlementId, leases: await redis.zcard(keys.leases), counts: Object.fromEntries(counts) }
}
