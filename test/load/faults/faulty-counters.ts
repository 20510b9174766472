import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { openCounters as openReal, type Counters } from '#core/limits/counters.ts'
import type { Log } from '#core/platform/log.ts'
import { faultOf } from './fault.ts'

const fault = faultOf(import.meta.url)
const NO_CAP = 10_000
/** Longer than the Retry-After of a concurrency refusal. */
const LATE_MS = 3_000

/** In place of `core/limits/counters.ts`: the real counters, used wrongly. */
export function openCounters(url: string, log: Log): Counters {
  const real = openReal(url, log)
  return {
    ...real,
    async admit(scope, epoch, request) {
      const again = { ...request, requestId: randomUUID(), idempotencyDigest: undefined }
      if (fault() === 'counts-twice' && (await real.admit(scope, epoch, again)).status === 'admitted')
        await real.settle(scope, { ...again, ending: 'fail', served: [] })
      const uncapped = { ...request, limits: { ...request.limits, concurrency: NO_CAP } }
      return real.admit(scope, epoch, fault() === 'concurrency-off' ? uncapped : request)
    },
    async settle(scope, settled) {
      if (fault() !== 'late-release')
        return real.settle(scope, fault() === 'exposure-off' ? { ...settled, served: [] } : settled)
      void sleep(LATE_MS).then(() => real.settle(scope, settled))
      return {}
    },
  }
}
