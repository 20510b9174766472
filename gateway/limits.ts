import { setTimeout as sleep } from 'node:timers/promises'
import { openDatabase, type Database } from '#core/db/pool.ts'
import { createReservationWriter } from '#core/db/reservation-writer.ts'
import { openCounters } from '#core/limits/counters.ts'
import { createLimitEpochs } from '#core/limits/epochs.ts'
import { createSettlement } from '#core/limits/settlement.ts'
import { LIMIT_BOUNDS } from '#core/limits/bounds.ts'
import type { Log } from '#core/platform/log.ts'
import type { ConcurrencyLimit } from './retrieve/concurrency-limit.ts'

/** What a gateway admits and settles requests with; see `core/limits/README.md`. */
export function openGatewayLimits(deps: {
  readonly database: Database
  readonly databaseUrl: string
  readonly redisUrl: string
  readonly concurrency: Pick<ConcurrencyLimit, 'state'>
  readonly log: Log
}) {
  const { database, log } = deps
  const rebuilds = openDatabase(
    deps.databaseUrl,
    log,
    LIMIT_BOUNDS.rebuildDatabaseConnectionsMax,
    LIMIT_BOUNDS.rebuildStatementTimeoutMs,
  )
  const counters = openCounters(deps.redisUrl, log)
  const reservations = createReservationWriter(database, () => deps.concurrency.state().active)
  const settlement = createSettlement({ database, reservations, counters, log })
  return {
    database,
    reservations,
    counters,
    settlement,
    epochs: createLimitEpochs({ database: rebuilds, reads: database, counters, settlement, log }),
    /** Waits a while for settlements that are being repeated. */
    close: async () => {
      await settlement.idle(LIMIT_BOUNDS.settlementsEndMs)
      counters.close()
      // A rebuild that runs now is done again by another gateway.
      await Promise.race([rebuilds.end(), sleep(LIMIT_BOUNDS.settlementsEndMs)])
    },
  }
}
