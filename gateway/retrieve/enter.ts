import { ServiceError } from '#core/platform/errors.ts'
import type { Capacity, Turn } from './capacity.ts'
import type { Exchange } from './exchange.ts'

/**
 * Refuses at once, before any work on the request, while others wait in vain.
 * @throws ServiceError INTERNAL_UNAVAILABLE.
 */
export function assertTakesMore(capacity: Capacity): void {
  if (capacity.isOverloaded()) throw overloaded()
}

/**
 * Takes the request on, before anything of it is charged.
 * @throws ServiceError INTERNAL_UNAVAILABLE when the gateway has more requests than it can finish in time.
 */
export async function enter(capacity: Capacity, exchange: Exchange): Promise<Turn> {
  const turn = await capacity.enter(exchange.signal)
  if (turn === undefined) throw overloaded()
  return turn
}

function overloaded(): ServiceError {
  const cause = new Error('the gateway has more requests than it can finish in time')
  return new ServiceError('INTERNAL_UNAVAILABLE', { cause })
}
