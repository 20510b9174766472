import { z } from 'zod'
import { inTransaction } from './pool.ts'
import type { Database, Queryable } from './pool.ts'

export interface LimitEpoch {
  readonly epoch: number
  readonly redisRunId: string
}

const row = z
  .object({ epoch: z.coerce.number(), redis_run_id: z.string() })
  .transform(({ epoch, redis_run_id }): LimitEpoch => ({ epoch, redisRunId: redis_run_id }))

/** One row per organization: which counters in Redis are valid, and which Redis process they were written to. */
const READ_EPOCH = 'select epoch, redis_run_id from limit_epochs where organization_id = $1'

/** Excludes the shared lock of every reservation. While it is held, no reservation under an older epoch can commit. */
const LOCK_EPOCH = 'select pg_advisory_xact_lock(hashtextextended($1::text, 0))'

const RAISE_EPOCH = `
  insert into limit_epochs (organization_id, epoch, redis_run_id) values ($1, 2, $2)
  on conflict (organization_id) do update set epoch = limit_epochs.epoch + 1, redis_run_id = excluded.redis_run_id
  returning epoch, redis_run_id`

/** Counters under the old epoch are never read again. The next admission of the organization rebuilds them. */
const ABANDON_EPOCH = 'update limit_epochs set epoch = epoch + 1 where organization_id = $1'

export async function abandonEpoch(database: Queryable, organizationId: string): Promise<void> {
  await database.query(ABANDON_EPOCH, [organizationId])
}

export async function readEpoch(database: Queryable, organizationId: string): Promise<LimitEpoch> {
  const { rows } = await database.query(READ_EPOCH, [organizationId])
  return rows.length === 0 ? { epoch: 0, redisRunId: '' } : row.parse(rows[0])
}

/**
 * Moves an organization to a new epoch while none of its reservations can be written. `install` fills the new counters
 * before the epoch is visible; if it fails, nothing changes. If `stillValid` returns true, the current epoch is kept.
 */
export async function raiseEpoch(
  database: Database,
  organizationId: string,
  redisRunId: string,
  stillValid: (current: LimitEpoch) => Promise<boolean>,
  install: (client: Queryable, epoch: number) => Promise<void>,
): Promise<LimitEpoch> {
  return inTransaction(database, async (client) => {
    await client.query(LOCK_EPOCH, [organizationId])
    const current = await readEpoch(client, organizationId)
    if (current.epoch > 0 && current.redisRunId === redisRunId && (await stillValid(current))) return current
    const raised = row.parse((await client.query(RAISE_EPOCH, [organizationId, redisRunId])).rows[0])
    await install(client, raised.epoch)
    return raised
  })
}
