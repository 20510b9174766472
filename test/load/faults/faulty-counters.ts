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
  /** By request, what counts it twice. */
  const twins = new Map<string, string>()
  return {
    ...real,
    async admit(scope, epoch, request) {
      if (fault() === 'counts-twice') {
        const twin = { ...request, requestId: randomUUID(), idempotencyDigest: undefined }
        if ((await real.admit(scope, epoch, twin)).status === 'admitted') twins.set(request.requestId, twin.requestId)
      }
      const isCapped = fault() !== 'concurrency-off' && fault() !== 'counts-twice'
      const uncapped = { ...request, limits: { ...request.limits, concurrency: NO_CAP } }
      const decision = await real.admit(scope, epoch, isCapped ? request : uncapped)
      const requestId = decision.status === 'admitted' ? undefined : twins.get(request.requestId)
      if (requestId !== undefined)
        await real.settle(scope, { requestId, idempotencyDigest: undefined, ending: 'undo', epoch, served: [] })
      return decision
    },
    async settle(scope, settled) {
      if (fault() === 'late-release') {
        void sleep(LATE_MS).then(() => real.settle(scope, settled))
        return {}
      }
      const after = await real.settle(scope, fault() === 'exposure-off' ? { ...settled, served: [] } : settled)
      // A twin that ended first would be a settled request that Postgres lacks, as after a restore.
      const requestId = twins.get(settled.requestId)
      twins.delete(settled.requestId)
      if (requestId !== undefined)
        await real.settle(scope, { requestId, idempotencyDigest: undefined, ending: 'fail', served: [] })
      return after
    },
  }
}
