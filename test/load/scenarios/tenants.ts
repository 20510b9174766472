import { poisson } from '../arrivals.ts'
import type { Arrival } from '../arrivals.ts'
import { percentile } from '#test/bench/load.ts'
import type { RequestRecord } from '../record.ts'
import type { Scenario, Stage } from './scenario.ts'

const CALM = Array.from({ length: 49 }, (_, n) => `tenant ${n + 1}`)
const FLOODING = 'flooding'
/** Of what is offered with the flood; the calm tenants offer the same without it. */
const CALM_SHARE = 0.7
const SHARES = { usual: 0.7, overload: 2 } as const

export const mixedTenants: Scenario = {
  name: 'tenants',
  title: 'Fifty tenants, one of them flooding, at 70 % of saturation and at twice the saturation',
  after: 'saturation',
  tenants: [
    ...CALM.map((name) => ({ name, keys: 1, limits: { concurrency: 10, requests_per_minute: 3_000 } })),
    { name: FLOODING, keys: 2, limits: { concurrency: 4, requests_per_minute: 300 } },
  ],
  async play(stage) {
    const overMs = stage.seconds * 1_000
    const usual = SHARES.usual * stage.saturation()
    const alone = await stage.offer('calm tenants alone', calm(stage, CALM_SHARE * usual, overMs / 4), {
      lastsMs: overMs / 4,
    })
    const together = await stage.offer('with one flooding, 70 % of saturation', mixed(stage, usual, overMs), {
      lastsMs: overMs,
    })
    const twice = SHARES.overload * stage.saturation()
    await stage.offer('twice the saturation', mixed(stage, twice, overMs / 2), { lastsMs: overMs / 2 })
    const p99 = (records: readonly RequestRecord[]): number =>
      percentile(
        records.filter(({ tenant, status }) => tenant !== FLOODING && status === 200).map(({ latencyMs }) => latencyMs),
        0.99,
      )
    const [before, beside] = [p99(alone), p99(together)]
    stage.figure('calm_p99_alone_ms', before)
    stage.figure('calm_p99_beside_flood_ms', beside)
    if (before > 0) stage.figure('fairness_p99_ratio', beside / before)
  },
}

function calm({ seed }: Stage, perSecond: number, overMs: number): readonly Arrival[] {
  return poisson(perSecond, overMs, seed, (_, random) => ({
    tenant: CALM[Math.floor(random() * CALM.length)] ?? FLOODING,
  }))
}

function mixed(stage: Stage, perSecond: number, overMs: number): readonly Arrival[] {
  return [
    ...calm(stage, CALM_SHARE * perSecond, overMs),
    ...poisson((1 - CALM_SHARE) * perSecond, overMs, stage.seed + 1, () => ({ tenant: FLOODING })),
  ]
}
