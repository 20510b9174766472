import { recordAbandoned, refundReservation as refund } from '#core/db/reservations.ts'
import type { Outcome, SettledReservation } from '#core/db/reservations.ts'
import type { Queryable } from '#core/db/pool.ts'
import { faultOf } from './fault.ts'

const fault = faultOf(import.meta.url)

/** In place of that of `core/db/reservations.ts`: a refund leaves the request charged. */
export async function refundReservation(
  client: Queryable,
  requestId: string,
  outcome: Outcome,
): Promise<SettledReservation | undefined> {
  if (fault() === 'lost-refund') await recordAbandoned(client, requestId, outcome)
  return refund(client, requestId, outcome)
}

export * from '#core/db/reservations.ts'
