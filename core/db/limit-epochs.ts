import { z } from 'zod'
import { inTransaction, withClient, type Database, type Queryable } from './pool.ts'

/** Which counters in Redis are valid: the epoch in their names, and the Redis process they were written to. */
export interface LimitEpoch {
  /** A random UUID; no epoch is used twice, not even after a restore. */
  readonly id: string
  readonly redisRunId: string
}

const row = z
  .object({ epoch: z.uuid(), redis_run_id: z.string() })
  .transform(({ epoch, redis_run_id }): LimitEpoch => ({ id: epoch, redisRunId: redis_run_id }))

/** One row per organization. */
const READ_EPOCH = 'select epoch, redis_run_id from limit_epochs where organization_id = $1'

/** @returns undefined for an organization without counters. */
export async function readEpoch(database: Queryable, organizationId: string): Promise<LimitEpoch | undefined> {
  const { rows } = await database.query({ name: 'read-limit-epoch', text: READ_EPOCH, values: [organizationId] })
  return rows.length === 0 ? undefined : row.parse(rows[0])
}

/** Excludes the shared lock of every reservation, so none is being written under the old epoch when it ends. */
const LOCK_EPOCH = 'select pg_advisory_xact_lock(hashtextextended($1::text, 0))'

const MOVE_EPOCH = `
  insert into limit_epochs (organization_id, epoch, redis_run_id) values ($1, gen_random_uuid(), $2)
  on conflict (organization_id) do update set epoch = excluded.epoch, redis_run_id = excluded.redis_run_id
  returning epoch, redis_run_id`

/** Begins a new epoch. Afterwards no reservation under an earlier one can be written. */
export async function moveEpoch(database: Database, organizationId: string, redisRunId: string): Promise<LimitEpoch> {
  return inTransaction(database, async (client) => {
    await client.query(LOCK_EPOCH, [organizationId])
    return row.parse((await client.query(MOVE_EPOCH, [organizationId, redisRunId])).rows[0])
  })
}

/** Counters under the old epoch are never read again. The next admission of the organization rebuilds them. */
const END_EPOCH = 'update limit_epochs set epoch = gen_random_uuid() where organization_id = $1'

/** An organization without an epoch has no counters. */
export async function endEpoch(database: Queryable, organizationId: string): Promise<void> {
  await database.query(END_EPOCH, [organizationId])
}

/** Ends the epochs of all organizations. */
export async function endEveryEpoch(database: Queryable): Promise<void> {
  await database.query('update limit_epochs set epoch = gen_random_uuid()')
}

/** One rebuild of an organization's counters at a time, over all gateways; held by a connection until `unlock`. */
const TRY_LOCK_REBUILD = "select pg_try_advisory_lock(hashtextextended('rebuild:' || $1::text, 0)) as locked"
const UNLOCK_REBUILD = "select pg_advisory_unlock(hashtextextended('rebuild:' || $1::text, 0))"

/** Runs `work` alone for the organization. @returns undefined where another gateway rebuilds its counters. */
export async function withRebuildLock<T>(
  database: Database,
  organizationId: string,
  work: () => Promise<T>,
): Promise<T | undefined> {
  return withClient(database, async (client, broke) => {
    const { rows } = await client.query(TRY_LOCK_REBUILD, [organizationId])
    if (!z.object({ locked: z.boolean() }).parse(rows[0]).locked) return undefined
    try {
      return await work()
    } finally {
      await client.query(UNLOCK_REBUILD, [organizationId]).catch(broke)
    }
  })
}
