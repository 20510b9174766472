import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { openCounters as openReal } from '#core/limits/counters.ts'
import type { Counters } from '#core/limits/counters.ts'
import type { Log } from '#core/platform/log.ts'

/** Faults of the limits that a gateway can be started with. */
const FAULTS = ['concurrency-off', 'counts-twice', 'late-release', 'exposure-off'] as const

const fault = z.enum(FAULTS).parse(new URL(import.meta.url).searchParams.get('fault'))
const NO_CAP = 10_000
/** Longer than the Retry-After of a concurrency refusal. */
const LATE_MS = 3_000

/** In place of `core/limits/counters.ts`: the real counters, used wrongly. */
export function openCounters(url: string, log: Log): Counters {
  const real = openReal(url, log)
  switch (fault) {
    case 'concurrency-off':
      return {
        ...real,
        admit: (scope, epoch, request) =>
          real.admit(scope, epoch, { ...request, limits: { ...request.limits, concurrency: NO_CAP } }),
      }
    case 'counts-twice':
      return {
        ...real,
        admit: async (scope, epoch, request) => {
          const again = { ...request, requestId: randomUUID(), idempotencyDigest: undefined }
          if ((await real.admit(scope, epoch, again)).status === 'admitted')
            await real.settle(scope, { ...again, ending: 'fail', served: [] })
          return real.admit(scope, epoch, request)
        },
      }
    case 'late-release':
      return {
        ...real,
        settle: async (scope, settled) => {
          void sleep(LATE_MS).then(() => real.settle(scope, settled))
          return {}
        },
      }
    case 'exposure-off':
      return { ...real, settle: (scope, settled) => real.settle(scope, { ...settled, served: [] }) }
    default:
      return fault satisfies never
  }
}
