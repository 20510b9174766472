import type { Database } from '#core/db/pool.ts'
import { createReservationWriter } from '#core/db/reservation-writer.ts'
import { openCounters } from '#core/limits/counters.ts'
import { createLimitEpochs } from '#core/limits/epochs.ts'
import { createSettlement } from '#core/limits/settlement.ts'
import type { Log } from '#core/platform/log.ts'
import { MOVED_CLOCK } from '#test/support/limits.ts'
import { until } from '#test/support/until.ts'

export type ModelGateway = Awaited<ReturnType<typeof openModelGateway>>

/** The limits of one gateway process. */
export async function openModelGateway(deps: {
  readonly database: Database
  readonly rebuilds: Database
  readonly redisUrl: string
  readonly log: Log
}) {
  const { database, rebuilds, log } = deps
  let current = openCounters(deps.redisUrl, log, MOVED_CLOCK)
  // Those of the Redis that is connected now.
  const counters = new Proxy(current, { get: (_, name): unknown => Reflect.get(current, name) })
  const reservations = createReservationWriter(database)
  const settlement = createSettlement({ database, reservations, counters, log })
  const epochs = createLimitEpochs({ database: rebuilds, reads: database, counters, settlement, log })
  const usable = (): Promise<void> =>
    until('Redis can be used', async () => current.runId() !== undefined).then(() => undefined)
  await usable()
  return {
    database,
    /** Connections of rebuilds. */
    rebuilds,
    reservations,
    counters,
    settlement,
    epochs,
    /** Resolves when Redis can be used again. */
    usable,
    /** Uses another Redis from now on, as after a failover. */
    connect: async (redisUrl: string) => {
      current.close()
      current = openCounters(redisUrl, log, MOVED_CLOCK)
      await usable()
    },
    close: () => current.close(),
  }
}
