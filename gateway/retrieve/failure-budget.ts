import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { LRUCache } from 'lru-cache'
import { GATEWAY_BOUNDS } from '#gateway/bounds.ts'

/**
 * Counts unknown keys per network and minute. Past the budget, unknown keys no longer cause a database read; known keys
 * still pass. A network is one IPv4 address or one IPv6 /64, the smallest that a host is given.
 */
export type FailureBudget = ReturnType<typeof createFailureBudget>

/** @param now milliseconds on a monotonic clock. */
export function createFailureBudget(now: () => number = () => performance.now()) {
  const failures = new LRUCache<string, { count: number }>({
    max: GATEWAY_BOUNDS.failureAddressesMax,
    ttl: GATEWAY_BOUNDS.failureWindowMs,
    ttlResolution: 0,
    perf: { now },
  })
  return {
    isSpent: (address: string): boolean =>
      failures.size > 0 &&
      (failures.get(networkOf(address))?.count ?? 0) >= GATEWAY_BOUNDS.failedKeysPerAddressPerMinute,
    count: (address: string): void => {
      const network = networkOf(address)
      const entry = failures.get(network)
      if (entry === undefined) failures.set(network, { count: 1 })
      else entry.count++
    },
  }
}

/** IPv4-mapped IPv6 gives its IPv4 address. Text that is no address, which a proxy may forward, gives one network. */
function networkOf(address: string): string {
  if (isIP(address) === 0) return 'no address'
  const parsed = ipaddr.process(address)
  return 'octets' in parsed ? parsed.octets.join('.') : parsed.parts.slice(0, 4).join(':')
}
