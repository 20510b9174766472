import { BOUNDS } from '#core/platform/bounds.ts'

/**
 * Counts unknown keys per address and minute. Past the budget, unknown keys no longer cause a database read; known keys
 * still pass.
 */
export interface FailureBudget {
  isSpent(address: string): boolean
  count(address: string): void
}

/** @param now milliseconds since the epoch. */
export function createFailureBudget(now: () => number = Date.now): FailureBudget {
  const failures = new Map<string, { sinceMs: number; count: number }>()
  const current = (address: string): { sinceMs: number; count: number } | undefined => {
    const entry = failures.get(address)
    return entry !== undefined && now() - entry.sinceMs < BOUNDS.failureWindowMs ? entry : undefined
  }
  return {
    isSpent: (address) => (current(address)?.count ?? 0) >= BOUNDS.failedKeysPerAddressPerMinute,
    count: (address) => {
      const entry = current(address)
      if (entry !== undefined) entry.count++
      else {
        failures.delete(address)
        const oldest = failures.keys().next()
        if (failures.size >= BOUNDS.failureAddressesMax && oldest.done !== true) failures.delete(oldest.value)
        failures.set(address, { sinceMs: now(), count: 1 })
      }
    },
  }
}
