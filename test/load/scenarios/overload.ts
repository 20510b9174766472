import { poisson } from '../arrivals.ts'
import { goodput } from './scenario.ts'
import type { Scenario } from './scenario.ts'

const STEPS = [0.5, 1, 1.5] as const

export const overload: Scenario = {
  name: 'overload',
  title: 'Overload: goodput against offered load, up to twice the saturation',
  after: 'saturation',
  tenants: [{ name: 'unlimited', limits: {}, keys: 4 }],
  async play(stage) {
    const { seconds, seed } = stage
    const goodputs: number[] = []
    for (const [share, overMs] of [
      ...STEPS.map((step) => [step, seconds * 100] as const),
      [2, seconds * 500] as const,
    ]) {
      const perSecond = share * stage.saturation()
      const arrivals = poisson(perSecond, overMs, seed + share, () => ({ tenant: 'unlimited' }))
      const records = await stage.offer(`${share} × saturation`, arrivals, { lastsMs: overMs })
      goodputs.push(goodput(records, overMs))
    }
    const peak = Math.max(stage.saturation(), ...goodputs)
    if (peak > 0) stage.figure('goodput_at_twice_of_peak', (goodputs.at(-1) ?? 0) / peak)
  },
}
