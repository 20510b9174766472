import { poisson } from '../arrivals.ts'
import type { Behaviour } from '../arrivals.ts'
import type { Scenario } from './scenario.ts'

const SLOW_MS = 250
const PER_SECOND = 30
const HANG_UP_WITHIN_MS = 400

export const disconnects: Scenario = {
  name: 'disconnects',
  title: 'Callers that hang up at any moment, and callers that read slowly',
  tenants: [{ name: 'impatient', limits: { concurrency: 40 }, keys: 2 }],
  async play(stage) {
    stage.provider(SLOW_MS)
    const behaviourOf = (share: number, random: () => number): Behaviour | undefined =>
      share < 1 / 3
        ? { kind: 'hang up', afterMs: random() * HANG_UP_WITHIN_MS }
        : share < 2 / 3
          ? { kind: 'read slowly', pauseMs: 200 + random() * 1_000 }
          : undefined
    await stage.offer(
      'hang-ups and slow readers',
      poisson(PER_SECOND, (stage.seconds * 1_000) / 4, stage.seed, (_, random) => {
        const behaviour = behaviourOf(random(), random)
        return { tenant: 'impatient', ...(behaviour === undefined ? {} : { behaviour }) }
      }),
    )
  },
}
