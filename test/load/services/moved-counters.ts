import { openCounters as openReal, type Counters } from '#core/limits/counters.ts'
import type { Log } from '#core/platform/log.ts'
import { MOVED_CLOCK } from '#test/support/limits.ts'

/** In place of `core/limits/counters.ts`: the same counters under the moved clock. */
export function openCounters(url: string, log: Log): Counters {
  return openReal(url, log, MOVED_CLOCK)
}
