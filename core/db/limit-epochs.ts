import { z } from 'zod'
import { inTransaction, withClient, type Database } from './pool.ts'
import { execute, oneRowOf, rowOf, valueOf } from './rows.ts'

/** Which counters in Redis are valid: the epoch in their names, and the Redis process they were written to. */
export interface LimitEpoch {
  /** A random UUID; no epoch is used twice, not even after a restore. */
  readonly id: string
  readonly redisRunId: string
}

const row = z
  .object({ epoch: z.uuid(), redis_run_id: z.string() })
  .transform(({ epoch, redis_run_id }): LimitEpoch => ({ id: epoch, redisRunId: redis_run_id }))

/** @returns undefined for an organization without counters. */
export const readEpoch = rowOf(row, 'read-limit-epoch')<[organizationId: string]>`
  select epoch, redis_run_id from limit_epochs where organization_id = $1`

/** Excludes the shared lock of every reservation, so none is being written under the old epoch when it ends. */
const lockEpoch = execute<[organizationId: string]>`select pg_advisory_xact_lock(hashtextextended($1::text, 0))`

const newEpoch = oneRowOf(row)<[organizationId: string, redisRunId: string]>`
  insert into limit_epochs (organization_id, epoch, redis_run_id) values ($1, gen_random_uuid(), $2)
  on conflict (organization_id) do update set epoch = excluded.epoch, redis_run_id = excluded.redis_run_id
  returning epoch, redis_run_id`

/** Begins a new epoch. Afterwards no reservation under an earlier one can be written. */
export async function moveEpoch(database: Database, organizationId: string, redisRunId: string): Promise<LimitEpoch> {
  return inTransaction(database, async (client) => {
    await lockEpoch(client, organizationId)
    return newEpoch(client, organizationId, redisRunId)
  })
}

/**
 * Counters under the old epoch are never read again. The next admission of the organization rebuilds them. An
 * organization without an epoch has no counters.
 */
export const endEpoch = execute<[organizationId: string]>`
  update limit_epochs set epoch = gen_random_uuid() where organization_id = $1`

export const endEveryEpoch = execute`update limit_epochs set epoch = gen_random_uuid()`

/** One rebuild of an organization's counters at a time, over all gateways; held by a connection until `unlock`. */
const tryLockRebuild = valueOf(z.boolean())<[organizationId: string]>`
  select pg_try_advisory_lock(hashtextextended('rebuild:' || $1::text, 0))`
const unlockRebuild = execute<[organizationId: string]>`
  select pg_advisory_unlock(hashtextextended('rebuild:' || $1::text, 0))`

/** Runs `work` alone for the organization. @returns undefined where another gateway rebuilds its counters. */
export async function withRebuildLock<T>(database: Database, organizationId: string, work: () => Promise<T>) {
  return withClient(database, async (client, broke) => {
    if (!(await tryLockRebuild(client, organizationId))) return undefined
    try {
      return await work()
    } finally {
      await unlockRebuild(client, organizationId).catch(broke)
    }
  })
}
