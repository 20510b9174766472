import { appendAudit } from '#core/db/audit.ts'
import { inTransaction, type Database, type Queryable } from '#core/db/pool.ts'
import { OperatorError } from '#core/platform/errors.ts'

export const OPERATOR_BOUNDS = {
  operatorStatementTimeoutMs: 60_000,
  operatorRowsDefault: 100,
  operatorRowsMax: 10_000,
  operatorPollMs: 250,
  /** Organizations, or keys of one organization, that `operator fingerprints rewrap` reads at once. */
  rewrapBatchMax: 500,
  /** Keys that it names because no secret opens them. */
  rewrapUnopenedNamedMax: 20,
  /** Steps of a rollback whose changes it names. */
  undoneStepsNamedMax: 20,
} as const

/** The actor and the database. The database role needs `evidence_operator`. */
export interface Operator {
  readonly database: Database
  /** Name stored in the audit trail. */
  readonly actor: string
}

/** The result of a change, with subject and detail of its audit row; without them nothing was changed. */
type Audited<T> = readonly [result: T, subject?: string, detail?: Readonly<Record<string, unknown>>]

/** Runs a change and writes its audit row in one transaction: neither exists without the other. */
export async function withAudit<T>(
  { database, actor }: Operator,
  action: string,
  change: (client: Queryable) => Promise<Audited<T>>,
): Promise<T> {
  return inTransaction(database, async (client) => {
    const [result, subject, detail] = await change(client)
    if (subject !== undefined && detail !== undefined) await appendAudit(client, { actor, action, subject, detail })
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
