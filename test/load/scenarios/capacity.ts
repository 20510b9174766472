import { poisson, type Arrival } from '../arrivals.ts'
import { percentile } from '#test/bench/load.ts'
import type { RequestRecord } from '../record.ts'
import { goodput, type Scenario, type Stage } from './scenario.ts'

const FIRST_PER_SECOND = 25
const GROWTH = 1.35
const STEPS_MAX = 12
/** A step is past saturation where so much less is answered than offered. */
const ANSWERED_SHARE = 0.9
const UNLIMITED = { tenant: 'unlimited' }

export const saturation: Scenario = {
  name: 'saturation',
  title: 'Saturation: offered load grows until less is answered than offered',
  tenants: [{ name: 'unlimited', limits: {}, keys: 4 }],
  async play({ seconds, seed, offer, figure }) {
    const overMs = Math.max(1_000, (seconds * 1_000) / 12)
    let [past, peak] = [0, 0]
    const arrivals = (perSecond: number, step: number): readonly Arrival[] =>
      poisson(perSecond, overMs, seed + step, () => UNLIMITED)
    await offer('warm-up', arrivals(FIRST_PER_SECOND, 0))
    for (let step = 0, perSecond = FIRST_PER_SECOND; step < STEPS_MAX && past < 2; step++, perSecond *= GROWTH) {
      const records = await offer(`${perSecond.toFixed(0)} a second`, arrivals(perSecond, step), { lastsMs: overMs })
      const answered = goodput(records, overMs)
      peak = Math.max(peak, answered)
      if (answered < (ANSWERED_SHARE * records.length * 1_000) / overMs) past++
    }
    figure('saturation_per_second', peak)
  },
}

export const overload: Scenario = {
  name: 'overload',
  title: 'Overload: goodput against offered load, up to twice the saturation',
  after: 'saturation',
  tenants: [{ name: 'unlimited', limits: {}, keys: 4 }],
  async play({ seconds, seed, offer, figure, saturation: saturated }) {
    const goodputs: number[] = []
    for (const share of [0.5, 1, 1.5, 2]) {
      const overMs = seconds * (share === 2 ? 500 : 100)
      const arrivals = poisson(share * saturated(), overMs, seed + share, () => UNLIMITED)
      goodputs.push(goodput(await offer(`${share} × saturation`, arrivals, { lastsMs: overMs }), overMs))
    }
    const peak = Math.max(saturated(), ...goodputs)
    if (peak > 0) figure('goodput_at_twice_of_peak', (goodputs.at(-1) ?? 0) / peak)
  },
}

const CALM = Array.from({ length: 49 }, (_, n) => `tenant ${n + 1}`)
const FLOODING = 'flooding'
/** Of what is offered with the flood; the calm tenants offer the same without it. */
const CALM_SHARE = 0.7

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
    const [usual, twice] = [0.7 * stage.saturation(), 2 * stage.saturation()]
    const offer = (phase: string, arrivals: readonly Arrival[], lastsMs: number): ReturnType<Stage['offer']> =>
      stage.offer(phase, arrivals, { lastsMs })
    const alone = await offer('calm tenants alone', calm(stage, CALM_SHARE * usual, overMs / 4), overMs / 4)
    const together = await offer('with one flooding, 70 % of saturation', mixed(stage, usual, overMs), overMs)
    await offer('twice the saturation', mixed(stage, twice, overMs / 2), overMs / 2)
    const p99 = (records: readonly RequestRecord[]): number => {
      const answered = records.filter(({ tenant, status }) => tenant !== FLOODING && status === 200)
      return percentile(
        answered.map(({ latencyMs }) => latencyMs),
        0.99,
      )
    }
    const [before, beside] = [p99(alone), p99(together)]
    stage.figure('calm_p99_alone_ms', before)
    stage.figure('calm_p99_beside_flood_ms', beside)
    if (before > 0) stage.figure('fairness_p99_ratio', beside / before)
  },
}

function calm({ seed }: Stage, perSecond: number, overMs: number): readonly Arrival[] {
  const tenantOf = (random: () => number): string => CALM[Math.floor(random() * CALM.length)] ?? FLOODING
  return poisson(perSecond, overMs, seed, (_, random) => ({ tenant: tenantOf(random) }))
}

function mixed(stage: Stage, perSecond: number, overMs: number): readonly Arrival[] {
  const flood = poisson((1 - CALM_SHARE) * perSecond, overMs, stage.seed + 1, () => ({ tenant: FLOODING }))
  return [...calm(stage, CALM_SHARE * perSecond, overMs), ...flood]
}
