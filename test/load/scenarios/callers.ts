import { poisson, type Arrival, type Behaviour } from '../arrivals.ts'
import type { Scenario } from './scenario.ts'

const COPIES = 5
const SPREAD_MS = 40

export const idempotencyKeys: Scenario = {
  name: 'idempotency',
  title: 'Idempotency: duplicates in flight over all gateways, duplicates afterwards, keys of refunded requests',
  tenants: [{ name: 'retrying', limits: { concurrency: 100 }, keys: 2 }],
  async play({ seconds, seed, offer, provider }) {
    const keys = Math.min(60, Math.max(10, seconds))
    const run = `load-${seed}-${Date.now().toString(36)}`
    provider(200)
    await offer('duplicates in flight', duplicates(run, keys, COPIES))
    await offer('duplicates afterwards', duplicates(run, keys, 1))
    provider(50, true)
    await offer('refunded', duplicates(`${run}-refunded`, keys, 1))
    provider(50)
    await offer('keys of refunded requests', duplicates(`${run}-refunded`, keys, COPIES))
  },
}

/** Groups of requests with one key, each group within some milliseconds. */
function duplicates(run: string, keys: number, copies: number): readonly Arrival[] {
  return Array.from({ length: keys * copies }, (_, n) => {
    const key = Math.floor(n / copies)
    const atMs = key * SPREAD_MS * 1.5 + ((n % copies) * SPREAD_MS) / copies
    return { tenant: 'retrying', idempotencyKey: `${run}-${String(key).padStart(6, '0')}`, atMs }
  })
}

export const disconnects: Scenario = {
  name: 'disconnects',
  title: 'Callers that hang up at any moment, and callers that read slowly',
  tenants: [{ name: 'impatient', limits: { concurrency: 40 }, keys: 2 }],
  async play({ seconds, seed, offer, provider }) {
    provider(250)
    const behaviourOf = (share: number, random: () => number): Behaviour | undefined => {
      if (share < 1 / 3) return { kind: 'hang up', afterMs: random() * 400 }
      return share < 2 / 3 ? { kind: 'read slowly', pauseMs: 200 + random() * 1_000 } : undefined
    }
    const arrivals = poisson(30, (seconds * 1_000) / 4, seed, (_, random) => {
      const behaviour = behaviourOf(random(), random)
      return { tenant: 'impatient', ...(behaviour === undefined ? {} : { behaviour }) }
    })
    await offer('hang-ups and slow readers', arrivals)
  },
}

/** Linux answers for the whole of 127.0.0.0/8; elsewhere all requests come from one address. */
const ADDRESSES = process.platform === 'linux' ? ['127.0.0.2', '127.0.0.3', '127.0.0.4'] : ['127.0.0.1']

export const keysByAddress: Scenario = {
  name: 'keys',
  title: 'Unknown keys by address, past the budget of failures, beside known keys from the same addresses',
  tenants: [{ name: 'known', limits: {}, keys: 1 }],
  async play({ seconds, seed, offer }) {
    const overMs = (seconds * 1_000) / 6
    const known = (n: number): Omit<Arrival, 'atMs'> => ({
      tenant: 'known',
      from: ADDRESSES[n % ADDRESSES.length] ?? '127.0.0.1',
    })
    await offer('unknown and known keys', [
      ...poisson(40, overMs, seed, (n) => ({ ...known(n), unknownKey: true })),
      ...poisson(10, overMs, seed + 1, known),
    ])
  },
}
