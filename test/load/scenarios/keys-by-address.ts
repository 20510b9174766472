import { poisson } from '../arrivals.ts'
import type { Scenario } from './scenario.ts'

/** Linux answers for the whole of 127.0.0.0/8; elsewhere all requests come from one address. */
const ADDRESSES = process.platform === 'linux' ? ['127.0.0.2', '127.0.0.3', '127.0.0.4'] : []
const UNKNOWN_PER_SECOND = 40
const KNOWN_PER_SECOND = 10

export const keysByAddress: Scenario = {
  name: 'keys',
  title: 'Unknown keys by address, past the budget of failures, beside known keys from the same addresses',
  tenants: [{ name: 'known', limits: {}, keys: 1 }],
  async play(stage) {
    const overMs = (stage.seconds * 1_000) / 6
    const from = (n: number): { readonly from?: string } => {
      const address = ADDRESSES[n % Math.max(1, ADDRESSES.length)]
      return address === undefined ? {} : { from: address }
    }
    await stage.offer('unknown and known keys', [
      ...poisson(UNKNOWN_PER_SECOND, overMs, stage.seed, (n) => ({ tenant: 'known', unknownKey: true, ...from(n) })),
      ...poisson(KNOWN_PER_SECOND, overMs, stage.seed + 1, (n) => ({ tenant: 'known', ...from(n) })),
    ])
  },
}
