import { ServiceError } from '#core/platform/errors.ts'
import type { ConcurrencyLimit, Slot } from './concurrency-limit.ts'
import type { RequestContext } from './request-context.ts'

/**
 * Refuses at once, before any work on the request, while others wait in vain.
 * @throws ServiceError INTERNAL_UNAVAILABLE.
 */
export function assertNotOverloaded(concurrency: ConcurrencyLimit): void {
  if (concurrency.isOverloaded()) throw overloaded()
}

/**
 * Waits for a slot, before anything of the request is charged.
 * @throws ServiceError INTERNAL_UNAVAILABLE when the gateway has more requests than it can finish in time.
 */
export async function enter(concurrency: ConcurrencyLimit, context: RequestContext): Promise<Slot> {
  const slot = await concurrency.enter(context.signal)
  if (slot === undefined) throw overloaded()
  return slot
}

function overloaded(): ServiceError {
  const cause = new Error('the gateway has more requests than it can finish in time')
  return new ServiceError('INTERNAL_UNAVAILABLE', { cause })
}
