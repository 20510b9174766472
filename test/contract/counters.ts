import { Redis } from 'ioredis'
import { epochKey } from '#core/limits/counter-keys.ts'
import { inTransaction } from '#core/db/pool.ts'
import type { Caller } from '#test/support/caller.ts'
import { service } from './service.ts'

/** How many requests of a caller were admitted. */
export async function admittedOf({ entitlementId }: Caller): Promise<number | null> {
  return (await service.owner.query('select from reservations where entitlement_id = $1', [entitlementId])).rowCount
}

/** Loses the counters of a caller's organization; the next admission counts them anew from its reservations. */
export async function loseCounters(caller: Pick<Caller, 'organization'>): Promise<void> {
  const { rows } = await service.owner.query<{ id: string }>('select id from organizations where name = $1', [
    caller.organization,
  ])
  using ending = new DisposableStack()
  const redis = ending.adopt(new Redis(service.settings.redisUrl), (it) => it.disconnect())
  await redis.del(epochKey(rows[0]?.id ?? ''))
}

/** Moves a caller's past requests, or the first of them only, further back in time, and loses the counters. */
export async function age(caller: Caller, interval: string, which: 'all' | 'first' = 'all'): Promise<void> {
  await inTransaction(service.owner, async (client) => {
    // Only the owner can set this aside: settled reservations do not change otherwise.
    await client.query('set local session_replication_role = replica')
    await client.query(
      `update reservations set admitted_at = admitted_at - $2::interval, finished_at = finished_at - $2::interval
       where id in (select id from reservations where entitlement_id = $1 order by admitted_at
         limit case when $3 = 'first' then 1 end)`,
      [caller.entitlementId, interval, which],
    )
  })
  await loseCounters(caller)
}
