import pg from 'pg'
import { readBlockers } from '#core/db/lock-timeout.ts'
import type { Database } from '#core/db/pool.ts'
import type { Log } from '#core/platform/log.ts'
import { GATEWAY_BOUNDS } from './bounds.ts'
import { createFailures, reasonOf } from './dependencies.ts'

/** What the statements of requests tell of Postgres: a full disk, a lock, an exhausted pool. */
export type Statements = ReturnType<typeof watchStatements>

/** Watches every statement that the pool runs outside of transactions. */
export function watchStatements(database: Database, log: Log) {
  const failures = createFailures()
  /** Those under way, with who blocked them when they were looked at. */
  const running = new Set<{ readonly sinceMs: number; blocked_by?: string }>()
  const query = database.query.bind(database)

  async function watched(statement: string, result: unknown): Promise<void> {
    const call = { sinceMs: performance.now() }
    running.add(call)
    try {
      await result
      failures.note(statement, undefined)
    } catch (error) {
      if (isRefusal(error)) return
      const { sinceMs: _, ...blocked } = call
      log.warn('statement failed', { statement, ...blocked }, new Error(statement, { cause: error }))
      failures.note(statement, `failed (${reasonOf(error)})`)
    } finally {
      running.delete(call)
    }
  }

  // The pool has no event for the end of a statement.
  Object.assign(database, {
    query: (...args: readonly unknown[]): unknown => {
      const result: unknown = Reflect.apply(query, database, args)
      void watched(nameOf(args[0]), result)
      return result
    },
  })
  return {
    reason: failures.reason,
    /** Notes who blocks statements that are slow. */
    async look(): Promise<void> {
      const slow = [...running].filter(({ sinceMs }) => performance.now() - sinceMs > GATEWAY_BOUNDS.statementSlowMs)
      const found = slow.length === 0 ? [] : await readBlockers({ query }).catch(() => [])
      if (found.length > 0) for (const call of slow) call.blocked_by = found.join(', ')
    },
  }
}

/** A refusal by a function or constraint of the schema tells nothing of Postgres. */
function isRefusal(error: unknown): boolean {
  return error instanceof pg.DatabaseError && /^(?:22|23|EV|P0)/.test(error.code ?? '')
}

/** The name of a statement, or its beginning, which holds no value. Every statement of a request is named here. */
function nameOf(statement: unknown): string {
  if (typeof statement === 'string') return statement.trim().slice(0, 60).replaceAll(/\s+/g, ' ')
  if (typeof statement !== 'object' || statement === null) return ''
  if ('name' in statement && typeof statement.name === 'string') return statement.name
  return 'text' in statement ? nameOf(statement.text) : ''
}
