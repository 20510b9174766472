import type { Redis } from 'ioredis'
import { z } from 'zod'
import { readAuditHashes } from '#core/db/audit.ts'
import type { Queryable } from '#core/db/pool.ts'
import { auditAfter, copiedSchema, type Confirmed, type CopiedEntry } from '#core/db/restores.ts'
import { parsedJson } from '#core/platform/json.ts'
import { LIMIT_BOUNDS } from './bounds.ts'
import { AUDIT_COPY_KEY, CONFIRMED_KEY } from './counter-keys.ts'

/**
 * What Redis knows to be committed in Postgres, so that a Postgres that went back in time admits nothing: `settle.lua`
 * notes the newest settled reservation, and the job worker the end of the audit trail.
 */
export const confirmedReply = z
  .tuple([z.string().nullable(), z.coerce.number(), z.coerce.number(), z.string().nullable()])
  .transform(([id, ms, seq, hash]): Confirmed => ({
    ...(id === null ? {} : { reservation: { id, ms } }),
    ...(hash === null ? {} : { audit: { seq, hash } }),
  }))

export async function readConfirmed(redis: Redis): Promise<Confirmed> {
  return confirmedReply.parse(await redis.hmget(CONFIRMED_KEY, 'id', 'ms', 'seq', 'hash'))
}

/**
 * Copies the newest audit entries to Redis. A copy that Postgres does not continue stays as it is: it tells what a
 * restore lost.
 * @returns false then.
 */
export async function copyAudit(database: Queryable, redis: Redis): Promise<boolean> {
  const { audit } = await readConfirmed(redis)
  if (audit !== undefined && (await readAuditHashes(database, [audit.seq])).get(audit.seq) !== audit.hash) return false
  const entries = await auditAfter(database, audit?.seq ?? 0, LIMIT_BOUNDS.auditCopiedMax)
  const last = entries.at(-1)
  if (last === undefined) return true
  const commands = entries.map((entry) => [
    'xadd',
    AUDIT_COPY_KEY,
    'maxlen',
    '~',
    LIMIT_BOUNDS.auditCopiedMax,
    `${entry.seq}-0`,
    'entry',
    JSON.stringify(entry),
  ])
  await redis.multi([...commands, ['hset', CONFIRMED_KEY, 'seq', last.seq, 'hash', last.hash]]).exec()
  return true
}

/** The copied entries that Postgres lacks, oldest first. */
export async function lostAudit(database: Queryable, redis: Redis): Promise<readonly CopiedEntry[]> {
  const copied = (await redis.xrange(AUDIT_COPY_KEY, '-', '+')).map(([, [, text = '']]) =>
    copiedSchema.parse(parsedJson(text)),
  )
  const hashes = await readAuditHashes(
    database,
    copied.map(({ seq }) => seq),
  )
  return copied.filter(({ seq, hash }) => hashes.get(seq) !== hash)
}

/** The trail of Postgres is copied anew. */
export async function forgetAudit(redis: Redis): Promise<void> {
  await redis
    .multi([
      ['del', AUDIT_COPY_KEY],
      ['hdel', CONFIRMED_KEY, 'seq', 'hash'],
    ])
    .exec()
}
