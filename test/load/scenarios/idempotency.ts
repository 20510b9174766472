import type { Arrival } from '../arrivals.ts'
import type { Scenario } from './scenario.ts'

const TENANT = 'retrying'
const COPIES = 5
const SPREAD_MS = 40

export const idempotencyKeys: Scenario = {
  name: 'idempotency',
  title: 'Idempotency: duplicates in flight over all gateways, duplicates afterwards, keys of refunded requests',
  tenants: [{ name: TENANT, limits: { concurrency: 100 }, keys: 2 }],
  async play(stage) {
    const keys = Math.min(60, Math.max(10, stage.seconds))
    const run = `load-${stage.seed}-${Date.now().toString(36)}`
    stage.provider(200)
    await stage.offer('duplicates in flight', duplicates(run, keys, COPIES))
    await stage.offer('duplicates afterwards', duplicates(run, keys, 1))
    stage.provider(50, true)
    await stage.offer('refunded', duplicates(`${run}-refunded`, keys, 1))
    stage.provider(50)
    await stage.offer('keys of refunded requests', duplicates(`${run}-refunded`, keys, COPIES))
  },
}

/** Groups of requests with one key, each group within some milliseconds. */
function duplicates(run: string, keys: number, copies: number): readonly Arrival[] {
  return Array.from({ length: keys * copies }, (_, n) => {
    const key = Math.floor(n / copies)
    return {
      tenant: TENANT,
      idempotencyKey: `${run}-${String(key).padStart(6, '0')}`,
      atMs: key * SPREAD_MS * 1.5 + ((n % copies) * SPREAD_MS) / copies,
    }
  })
}
