import { evenly } from '../arrivals.ts'
import type { Scenario, Stage } from './scenario.ts'

const DAY_MS = 86_400_000
const PER_DAY = 20
/** Two days and a half. */
const PER_MONTH = 50
const OVER_MS = 1_200

export const calendar: Scenario = {
  name: 'calendar',
  title: 'Day and month: small allowances, across midnight and the end of a month with a moved clock',
  clock: 'moved',
  tenants: [{ name: 'allowed', limits: { requests_per_day: PER_DAY, requests_per_month: PER_MONTH }, keys: 2 }],
  async play(stage) {
    const now = new Date()
    const firstOfMonth = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)
    const nextMonth = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 2, 1)
    await offerAt(stage, 'first day', firstOfMonth + 12 * 3_600_000)
    // The clock passes midnight in the middle of the phase.
    await offerAt(stage, 'across midnight', firstOfMonth + DAY_MS - OVER_MS / 2)
    await offerAt(stage, 'second day', firstOfMonth + DAY_MS + 3_600_000)
    await offerAt(stage, 'third day, end of the monthly allowance', firstOfMonth + 2 * DAY_MS + 3_600_000)
    await offerAt(stage, 'fourth day, month used up', firstOfMonth + 3 * DAY_MS + 3_600_000)
    await offerAt(stage, 'across the end of the month', nextMonth - OVER_MS / 2)
  },
}

/** Offers one and a half times the day's allowance from an instant of the moved clock on. */
async function offerAt({ moveClock, offer }: Stage, phase: string, fromMs: number): Promise<void> {
  await moveClock(fromMs - Date.now())
  await offer(phase, evenly(1.5 * PER_DAY, OVER_MS, { tenant: 'allowed' }))
}
