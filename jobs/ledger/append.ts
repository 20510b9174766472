import { appendLedgerEntries } from '#core/db/ledger.ts'
import type { Queryable } from '#core/db/pool.ts'
import { BOUNDS } from '#core/platform/bounds.ts'

/**
 * Appends entries by group commit: ids of many jobs are collected for `ledgerAppendCollectMs` and go into one
 * statement.
 */
export interface LedgerAppender {
  /** Resolves when the entry is committed or exists already. */
  append(reservationId: string): Promise<void>
}

interface Batch {
  readonly ids: string[]
  readonly committed: Promise<void>
  readonly go: () => void
}

export function createLedgerAppender(database: Queryable): LedgerAppender {
  let open: Batch | undefined

  function begin(): Batch {
    const gate = Promise.withResolvers<void>()
    const ids: string[] = []
    const timer = setTimeout(gate.resolve, BOUNDS.ledgerAppendCollectMs)
    const committed = gate.promise.then(async () => {
      clearTimeout(timer)
      if (open?.ids === ids) open = undefined
      await appendLedgerEntries(database, ids)
    })
    return { ids, committed, go: gate.resolve }
  }

  return {
    append(reservationId) {
      open ??= begin()
      const batch = open
      batch.ids.push(reservationId)
      if (batch.ids.length >= BOUNDS.ledgerBatchMax) {
        open = undefined
        batch.go()
      }
      return batch.committed
    },
  }
}
