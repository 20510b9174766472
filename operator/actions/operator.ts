import { inTransaction } from '#core/db/pool.ts'
import type { Database, Queryable } from '#core/db/pool.ts'
import { appendAudit } from '#core/db/audit.ts'
import type { AuditEntry } from '#core/db/audit.ts'
import { OperatorError } from '#core/platform/errors.ts'

/** The actor and the database. The database role needs `evidence_operator`. */
export interface Operator {
  readonly database: Database
  /** Name stored in the audit trail. */
  readonly actor: string
}

/** The result of a change and its audit row. */
export interface Audited<T> {
  readonly result: T
  /** Undefined if nothing was changed. */
  readonly audit: Omit<AuditEntry, 'actor'> | undefined
}

/** Runs a change and writes its audit row in one transaction: neither exists without the other. */
export async function withAudit<T>(operator: Operator, change: (client: Queryable) => Promise<Audited<T>>): Promise<T> {
  return inTransaction(operator.database, async (client) => {
    const { result, audit } = await change(client)
    if (audit !== undefined) await appendAudit(client, { actor: operator.actor, ...audit })
    return result
  })
}

/** Adds the job for a row that is committed. */
export type Enqueue = (id: string) => Promise<void>

/**
 * Enqueues the job of a committed row.
 * @param see the command that shows the row.
 * @throws OperatorError when Redis did not accept the job. The row stays, and the worker enqueues its job later.
 */
export async function enqueueCommitted(enqueue: Enqueue, id: string, see: string): Promise<void> {
  try {
    await enqueue(id)
  } catch (cause) {
    throw new OperatorError(
      `It is recorded as ${id}, but Redis did not take its job: do not ask again, a job worker finds ` +
        `it within seconds; see "operator ${see}".`,
      { cause },
    )
  }
}
