import { inTransaction } from '#core/db/pool.ts'
import type { Database, Queryable } from '#core/db/pool.ts'
import { appendAudit } from '#core/db/audit.ts'
import type { AuditEntry } from '#core/db/audit.ts'

/** Who acts, and on what. The database role needs `evidence_operator`. */
export interface Operator {
  readonly database: Database
  /** Kept in the audit trail. */
  readonly actor: string
}

/** What a change did, and how the audit trail tells it. */
export interface Recorded<T> {
  readonly result: T
  readonly audit: Omit<AuditEntry, 'actor'>
}

/** Runs a change and writes its audit row in one transaction: neither exists without the other. */
export async function recorded<T>(operator: Operator, change: (client: Queryable) => Promise<Recorded<T>>): Promise<T> {
  return inTransaction(operator.database, async (client) => {
    const { result, audit } = await change(client)
    await appendAudit(client, { actor: operator.actor, ...audit })
    return result
  })
}
