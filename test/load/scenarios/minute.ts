import { burst, evenly, poisson } from '../arrivals.ts'
import type { Scenario } from './scenario.ts'

const RATE = 60
const SMALL_RATE = 5
const WINDOW_SECONDS = 60

/** Whether the run is long enough to see a slot of the minute become free. */
function isWhole(seconds: number): boolean {
  return seconds >= WINDOW_SECONDS
}

export const minute: Scenario = {
  name: 'minute',
  title: 'Requests per minute: any sliding 60 s, across the edge of a minute and across gateways',
  tenants: [
    { name: 'rated', limits: { requests_per_minute: RATE }, keys: 2 },
    { name: 'asking again', limits: { requests_per_minute: SMALL_RATE }, keys: 1 },
  ],
  async play(stage) {
    const { seconds, seed } = stage
    const rated = { tenant: 'rated' }
    // After the window of the first burst, a second burst takes the slots that became free.
    const sustainedMs = (isWhole(seconds) ? WINDOW_SECONDS + 12 : seconds) * 1_000
    const arrivals = [
      ...burst(RATE / 2, rated),
      ...poisson(2, sustainedMs, seed, () => rated),
      ...evenly(RATE, 500, rated, isWhole(seconds) ? (WINDOW_SECONDS - 1) * 1_000 : sustainedMs / 2),
      ...burst(RATE, rated, sustainedMs),
      // All of them leave the window together, so both refused ones find room after their Retry-After.
      ...burst(SMALL_RATE, { tenant: 'asking again' }),
      ...burst(2, { tenant: 'asking again', probe: true }, 3_000),
    ]
    const probeWaitMaxMs = isWhole(seconds) ? WINDOW_SECONDS * 1_000 : 0
    await stage.offer('sliding minute', arrivals, { probeWaitMaxMs })
  },
}
