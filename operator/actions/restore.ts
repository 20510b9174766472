import type { Redis } from 'ioredis'
import { readAuditHead } from '#core/db/audit.ts'
import type { Queryable } from '#core/db/pool.ts'
import { chargedSince, insertRestore, lacks, type CopiedEntry } from '#core/db/restores.ts'
import { forgetAudit, lostAudit, readConfirmed } from '#core/limits/confirmed.ts'
import { entitlementKeys, epochKey } from '#core/limits/counter-keys.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { withAudit, type Operator } from './operator.ts'

/** What Redis knows and Postgres lacks. */
export interface Lost {
  /** Charged requests of this month, at most; only entitlements that lost some. */
  readonly replies: readonly LostReplies[]
  /** Audit entries, oldest first: each change that is undone. */
  readonly changes: readonly CopiedEntry[]
  /** Audit entries that are missing and not known in full. */
  readonly changes_unknown: number
}

interface LostReplies {
  readonly organization: string
  readonly client: string
  readonly environment: string
  readonly knowledge_base: string
  readonly replies: number
}

/** @throws OperatorError where nothing is missing. */
export async function lostSince(database: Queryable, redis: Redis): Promise<Lost> {
  const confirmed = await readConfirmed(redis)
  if (!(await lacks(database, confirmed)))
    throw new OperatorError('Postgres has all that was confirmed: there is no restore to accept.')
  const changes = await lostAudit(database, redis)
  const missing = (confirmed.audit?.seq ?? 0) - (await readAuditHead(database)).seq
  return {
    replies: await lostReplies(database, redis),
    changes,
    changes_unknown: Math.max(0, missing - changes.length),
  }
}

/** Compares the counters in Redis, which outlived the restore, with the reservations. */
async function lostReplies(database: Queryable, redis: Redis): Promise<readonly LostReplies[]> {
  const now = new Date(await redisNowMs(redis))
  const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth()))
  const field = `m${now.getUTCFullYear() * 12 + now.getUTCMonth() + 1}`
  const lost: LostReplies[] = []
  for (const { id, organization_id, charged, ...about } of await chargedSince(database, month)) {
    const epoch = await redis.hget(epochKey(organization_id), 'epoch')
    if (epoch === null) continue
    const replies = Number(await redis.hget(entitlementKeys(organization_id, epoch, id).counts, field)) - charged
    if (replies > 0) lost.push({ ...about, replies })
  }
  return lost
}

/** Requests are admitted again, under new epochs whose counters are counted from what Postgres has. */
export async function acceptRestore(operator: Operator, redis: Redis, lost: Lost): Promise<void> {
  const untilMs = await redisNowMs(redis)
  const { replies, changes, changes_unknown } = lost
  await withAudit(operator, 'restore.accept', async (client) => {
    const id = await insertRestore(client, untilMs)
    const undone = changes.map(({ seq, action, subject }) => ({ seq, action, subject }))
    return [undefined, `restore:${id}`, { confirmed_until_ms: untilMs, replies, changes: undone, changes_unknown }]
  })
  await forgetAudit(redis)
}

async function redisNowMs(redis: Redis): Promise<number> {
  const [seconds] = await redis.time()
  return Number(seconds) * 1_000 + 999
}
