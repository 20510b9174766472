import { z } from 'zod'
import { withinLockTimeout } from './lock-timeout.ts'
import type { Queryable } from './pool.ts'
import { readRow, readRows } from './rows.ts'

/** A recorded action. Jobs and operator append, the operator reads; nobody changes or deletes. */
export interface AuditEntry {
  readonly actor: string
  /** `noun.verb`, e.g. `key.revoke`. */
  readonly action: string
  /** `noun:uuid` of the object of the action. */
  readonly subject: string
  readonly detail?: Readonly<Record<string, unknown>>
}

const auditRow = z.object({
  /** Number in the chain: dense, from 1. */
  seq: z.int(),
  at: z.date(),
  /** Name that the operator states. */
  actor: z.string(),
  /** Login role of the session, as Postgres knows it. */
  login: z.string(),
  action: z.string(),
  subject: z.string(),
  detail: z.record(z.string(), z.unknown()),
})

export interface AuditFilter {
  readonly actor?: string | undefined
  /** Matches the action itself or, with a noun alone, every action of that noun. */
  readonly action?: string | undefined
  /** Part of the subject or the detail, e.g. a name or a UUID. */
  readonly about?: string | undefined
  readonly from?: Date | undefined
  readonly to?: Date | undefined
  readonly limit: number
}

/** The end of the chain. Its hash covers every entry up to it, so a copy kept elsewhere proves them. */
export const auditHeadSchema = z.object({
  seq: z.int().nonnegative(),
  /** 64 hex digits. */
  hash: z.string().regex(/^[0-9a-f]{64}$/),
})
export type AuditHead = z.infer<typeof auditHeadSchema>

/** The head before the first entry. */
export const EMPTY_AUDIT_HEAD: AuditHead = { seq: 0, hash: '0'.repeat(64) }

const READ_HEAD = "select seq::float8 as seq, encode(hash, 'hex') as hash from audit order by audit.seq desc limit 1"

export async function readAuditHead(database: Queryable): Promise<AuditHead> {
  return (await readRow(database, auditHeadSchema, READ_HEAD)) ?? EMPTY_AUDIT_HEAD
}

/**
 * Runs inside the transaction of the change it records, so neither exists without the other. A trigger sets place,
 * time, login and hash under the lock of the chain, and the transaction holds that lock to its end. The entry is
 * therefore the last statement of the transaction: whoever waits for the chain holds nothing that its holder needs.
 */
const APPEND = 'insert into audit (actor, action, subject, detail) values ($1, $2, $3, $4)'

/** @throws OperatorError when another session holds the chain for too long. */
export async function appendAudit(database: Queryable, entry: AuditEntry): Promise<void> {
  const values = [entry.actor, entry.action, entry.subject, JSON.stringify(entry.detail ?? {})]
  await withinLockTimeout('The audit trail', database.query(APPEND, values))
}

/** Newest first. `strpos` instead of `like` takes the operator's input literally. */
const LIST = `
  select seq::float8 as seq, at, actor, login, action, subject, detail
  from audit
  where ($1::text is null or actor = $1)
    and ($2::text is null or action = $2 or split_part(action, '.', 1) = $2)
    and ($3::text is null or strpos(subject, $3) > 0 or strpos(detail::text, $3) > 0)
    and ($4::timestamptz is null or at >= $4)
    and ($5::timestamptz is null or at < $5)
  order by audit.seq desc
  limit $6`

export function listAudit(database: Queryable, filter: AuditFilter) {
  const { actor = null, action = null, about = null, from = null, to = null, limit } = filter
  return readRows(database, auditRow, LIST, [actor, action, about, from, to, limit])
}
