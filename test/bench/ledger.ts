import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { Database } from '#core/db/pool.ts'

const stateSchema = z.object({
  reservations: z.number(),
  open: z.number(),
  delivered: z.number(),
  charged: z.number(),
  entries: z.number(),
})
/** Reservations and ledger entries, counted. */
export type LedgerState = z.infer<typeof stateSchema>

const COUNT = `
  select count(*)::float8 as reservations, count(*) filter (where state = 'open')::float8 as open,
    count(*) filter (where state = 'delivered')::float8 as delivered,
    (select count(*) from ledger)::float8 as entries, (select count(*) from ledger where charged)::float8 as charged
  from reservations`

const POLL_MS = 10
const SETTLE_TIMEOUT_MS = 60_000

export function isSettled({ reservations, open, entries }: LedgerState): boolean {
  return open === 0 && entries === reservations
}

/**
 * Waits until every reservation is finished and has its entry. @returns how long that took; what was left if it took
 * too long.
 */
export async function untilSettled(owner: Database): Promise<{ readonly ms: number; readonly state: LedgerState }> {
  const began = performance.now()
  for (;;) {
    const state = stateSchema.parse((await owner.query(COUNT)).rows[0])
    const ms = performance.now() - began
    if (isSettled(state) || ms > SETTLE_TIMEOUT_MS) return { ms, state }
    await sleep(POLL_MS)
  }
}
