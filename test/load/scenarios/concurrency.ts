import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import { burst, poisson } from '../arrivals.ts'
import type { Arrival } from '../arrivals.ts'
import type { Scenario, Stage } from './scenario.ts'

const CAP = 8
const KEYS = 3
const TENANT = 'capped'
/** Shorter than the Retry-After of a concurrency refusal, so that a probe finds room. */
const SLOW_MS = 400
const ROUNDS_MAX = 3
/** From here on a run has time for leases that expire. */
const KILL_FROM_SECONDS = 30

export const concurrency: Scenario = {
  name: 'concurrency',
  title: 'Concurrency cap: bursts at 1, cap, cap + 1 and 10 × cap, several keys and gateways, a killed gateway',
  tenants: [{ name: TENANT, limits: { concurrency: CAP }, keys: KEYS }],
  async play(stage) {
    stage.provider(SLOW_MS)
    const rounds = Math.min(ROUNDS_MAX, Math.max(1, Math.floor(stage.seconds / 10)))
    for (let round = 1; round <= rounds; round++)
      for (const count of [1, CAP, CAP + 1, 10 * CAP])
        await stage.offer(`burst of ${count}, round ${round}`, probing(burst(count, { tenant: TENANT })), {
          probeWaitMaxMs: 5_000,
        })
    const overMs = (stage.seconds * 1_000) / 6
    // Three times what the cap lets through.
    const perSecond = (3 * CAP * 1_000) / SLOW_MS
    await stage.offer(
      'overlapping leases',
      poisson(perSecond, overMs, stage.seed, () => ({ tenant: TENANT })),
    )
    if (stage.seconds >= KILL_FROM_SECONDS) await killedGateway(stage)
  },
}

/** Only two of a burst ask again, so that both find room once the burst is over. */
function probing(arrivals: readonly Arrival[]): readonly Arrival[] {
  return arrivals.map((arrival, n) => (n >= arrivals.length - 2 ? { ...arrival, probe: true } : arrival))
}

/** The leases of a killed gateway hold their place until the hard deadline, and no longer. */
async function killedGateway({ gateways, offer, wait, provider, kill, restart }: Stage): Promise<void> {
  provider(3_000)
  const began = performance.now()
  const held = offer('gateway killed', burst(CAP, { tenant: TENANT, gateway: 0 }))
  await wait(1_000)
  await kill(0)
  await held
  provider(SLOW_MS)
  const other = gateways > 1 ? 1 : 0
  if (gateways === 1) await restart(0)
  await offer('leases of the killed gateway', burst(CAP, { tenant: TENANT, gateway: other }))
  await wait(PLATFORM_BOUNDS.hardDeadlineMs + 1_000 - (performance.now() - began))
  await offer('leases expired', burst(2 * CAP, { tenant: TENANT, gateway: other }))
  if (gateways > 1) await restart(0)
}
