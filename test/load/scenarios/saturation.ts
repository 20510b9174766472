import { poisson } from '../arrivals.ts'
import type { RequestRecord } from '../record.ts'
import { goodput } from './scenario.ts'
import type { Scenario } from './scenario.ts'

const FIRST_PER_SECOND = 25
const GROWTH = 1.35
const STEPS_MAX = 12
/** A step is past saturation where so much less is answered than offered. */
const ANSWERED_SHARE = 0.9

export const saturation: Scenario = {
  name: 'saturation',
  title: 'Saturation: offered load grows until less is answered than offered',
  tenants: [{ name: 'unlimited', limits: {}, keys: 4 }],
  async play(stage) {
    const overMs = Math.max(1_000, (stage.seconds * 1_000) / 12)
    let past = 0
    let peak = 0
    await stage.offer(
      'warm-up',
      poisson(FIRST_PER_SECOND, overMs, stage.seed, () => ({ tenant: 'unlimited' })),
    )
    for (let step = 0, perSecond = FIRST_PER_SECOND; step < STEPS_MAX && past < 2; step++, perSecond *= GROWTH) {
      const records = await stage.offer(
        `${perSecond.toFixed(0)} a second`,
        poisson(perSecond, overMs, stage.seed + step, () => ({ tenant: 'unlimited' })),
        { lastsMs: overMs },
      )
      const answered = goodput(records, overMs)
      peak = Math.max(peak, answered)
      if (answered < ANSWERED_SHARE * offeredPerSecond(records, overMs)) past++
    }
    stage.figure('saturation_per_second', peak)
  },
}

function offeredPerSecond(records: readonly RequestRecord[], overMs: number): number {
  return (records.length * 1_000) / overMs
}
