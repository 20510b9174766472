import { z } from 'zod'
import type { Queryable } from './pool.ts'

/** A recorded action. Jobs and operator append, the operator reads; only the schema's owner may change or delete. */
export interface AuditEntry {
  readonly actor: string
  /** `noun.verb`, e.g. `key.revoke`. */
  readonly action: string
  /** `noun:uuid` of the object of the action. */
  readonly subject: string
  readonly detail?: Readonly<Record<string, unknown>>
}

const auditRow = z.object({
  id: z.int(),
  at: z.date(),
  actor: z.string(),
  action: z.string(),
  subject: z.string(),
  detail: z.record(z.string(), z.unknown()),
})
export type AuditRow = z.infer<typeof auditRow>

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

/** Appends one row; runs inside the transaction of the change it records, so neither exists without the other. */
const APPEND = 'insert into audit (actor, action, subject, detail) values ($1, $2, $3, $4)'

export async function appendAudit(database: Queryable, entry: AuditEntry): Promise<void> {
  await database.query(APPEND, [entry.actor, entry.action, entry.subject, JSON.stringify(entry.detail ?? {})])
}

/**
 * Newest first by the primary key, which grows with time. `strpos` instead of `like` takes the operator's input
 * literally.
 */
const LIST = `
  select id::float8 as id, at, actor, action, subject, detail
  from audit
  where ($1::text is null or actor = $1)
    and ($2::text is null or action = $2 or split_part(action, '.', 1) = $2)
    and ($3::text is null or strpos(subject, $3) > 0 or strpos(detail::text, $3) > 0)
    and ($4::timestamptz is null or at >= $4)
    and ($5::timestamptz is null or at < $5)
  order by audit.id desc
  limit $6`

export async function listAudit(database: Queryable, filter: AuditFilter): Promise<readonly AuditRow[]> {
  const values = [
    filter.actor ?? null,
    filter.action ?? null,
    filter.about ?? null,
    filter.from ?? null,
    filter.to ?? null,
    filter.limit,
  ]
  return z.array(auditRow).parse((await database.query(LIST, values)).rows)
}
