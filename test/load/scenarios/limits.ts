import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import { burst, evenly, poisson, type Arrival } from '../arrivals.ts'
import type { Scenario, Stage } from './scenario.ts'

const CAP = 8
const CAPPED = { tenant: 'capped' }
/** Shorter than the Retry-After of a concurrency refusal, so that a probe finds room. */
const SLOW_MS = 400
/** From here on a run has time for leases that expire. */
const KILL_FROM_SECONDS = 30

export const concurrency: Scenario = {
  name: 'concurrency',
  title: 'Concurrency cap: bursts at 1, cap, cap + 1 and 10 × cap, several keys and gateways, a killed gateway',
  tenants: [{ name: 'capped', limits: { concurrency: CAP }, keys: 3 }],
  async play(stage) {
    const { seconds, seed, offer, provider } = stage
    provider(SLOW_MS)
    const rounds = Math.min(3, Math.max(1, Math.floor(seconds / 10)))
    for (let round = 1; round <= rounds; round++)
      for (const count of [1, CAP, CAP + 1, 10 * CAP]) {
        // Only two of a burst ask again, so that both find room once the burst is over.
        const arrivals = burst(count, CAPPED).map((one, n) => (n >= count - 2 ? { ...one, probe: true } : one))
        await offer(`burst of ${count}, round ${round}`, arrivals, { probeWaitMaxMs: 5_000 })
      }
    // Three times what the cap lets through.
    const perSecond = (3 * CAP * 1_000) / SLOW_MS
    const arrivals = poisson(perSecond, (seconds * 1_000) / 6, seed, () => CAPPED)
    await offer('overlapping leases', arrivals)
    if (seconds >= KILL_FROM_SECONDS) await killedGateway(stage)
  },
}

/** The leases of a killed gateway hold their place until the hard deadline, and no longer. */
async function killedGateway({ gateways, offer, wait, provider, kill, restart }: Stage): Promise<void> {
  provider(3_000)
  const began = performance.now()
  const held = offer('gateway killed', burst(CAP, { ...CAPPED, gateway: 0 }))
  await wait(1_000)
  await kill(0)
  await held
  provider(SLOW_MS)
  const other = gateways > 1 ? 1 : 0
  if (gateways === 1) await restart(0)
  await offer('leases of the killed gateway', burst(CAP, { ...CAPPED, gateway: other }))
  await wait(PLATFORM_BOUNDS.hardDeadlineMs + 1_000 - (performance.now() - began))
  await offer('leases expired', burst(2 * CAP, { ...CAPPED, gateway: other }))
  if (gateways > 1) await restart(0)
}

const RATE = 60
const SMALL_RATE = 5
const WINDOW_SECONDS = 60
const RATED = { tenant: 'rated' }
const AGAIN = { tenant: 'asking again' }

export const minute: Scenario = {
  name: 'minute',
  title: 'Requests per minute: any sliding 60 s, across the edge of a minute and across gateways',
  tenants: [
    { name: RATED.tenant, limits: { requests_per_minute: RATE }, keys: 2 },
    { name: AGAIN.tenant, limits: { requests_per_minute: SMALL_RATE }, keys: 1 },
  ],
  async play({ seconds, seed, offer }) {
    // A slot of the minute becomes free in a run that is long enough.
    const isWhole = seconds >= WINDOW_SECONDS
    // After the window of the first burst, a second burst takes the slots that became free.
    const sustainedMs = (isWhole ? WINDOW_SECONDS + 12 : seconds) * 1_000
    const arrivals = [
      ...burst(RATE / 2, RATED),
      ...poisson(2, sustainedMs, seed, () => RATED),
      ...evenly(RATE, 500, RATED, isWhole ? (WINDOW_SECONDS - 1) * 1_000 : sustainedMs / 2),
      ...burst(RATE, RATED, sustainedMs),
      // All of them leave the window together, so both refused ones find room after their Retry-After.
      ...burst(SMALL_RATE, AGAIN),
      ...burst(2, { ...AGAIN, probe: true }, 3_000),
    ]
    await offer('sliding minute', arrivals, { probeWaitMaxMs: isWhole ? WINDOW_SECONDS * 1_000 : 0 })
  },
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const PER_DAY = 20
const ALLOWED_MS = 1_200

export const calendar: Scenario = {
  name: 'calendar',
  title: 'Day and month: small allowances, across midnight and the end of a month with a moved clock',
  clock: 'moved',
  // Two days and a half a month.
  tenants: [{ name: 'allowed', limits: { requests_per_day: PER_DAY, requests_per_month: 2.5 * PER_DAY }, keys: 2 }],
  async play({ moveClock, offer }) {
    const now = new Date()
    const monthBegins = (ahead: number): number => Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead, 1)
    const first = monthBegins(1)
    // The clock passes midnight, and the end of the month, in the middle of a phase.
    const phases: Readonly<Record<string, number>> = {
      'first day': first + 12 * HOUR_MS,
      'across midnight': first + DAY_MS - ALLOWED_MS / 2,
      'second day': first + DAY_MS + HOUR_MS,
      'third day, end of the monthly allowance': first + 2 * DAY_MS + HOUR_MS,
      'fourth day, month used up': first + 3 * DAY_MS + HOUR_MS,
      'across the end of the month': monthBegins(2) - ALLOWED_MS / 2,
    }
    for (const [phase, fromMs] of Object.entries(phases)) {
      await moveClock(fromMs - Date.now())
      await offer(phase, evenly(1.5 * PER_DAY, ALLOWED_MS, { tenant: 'allowed' }))
    }
  },
}

const FLOORS = { corpus: 10, document: 10_000, daily: 1 }
const UNMARKED = { soft_share: 1, hard_share: 1, document_share: 1, floors: FLOORS }
/** The rate of the first is high enough for the hard mark to be reached past the soft one. */
const CRAWLERS = {
  crawler: { requests_per_minute: 100_000, exposure: { ...UNMARKED, soft_share: 0.1, hard_share: 0.25 } },
  slowed: { requests_per_minute: 300, exposure: { ...UNMARKED, soft_share: 0.05 } },
  'one document': {
    requests_per_minute: 100_000,
    exposure: { ...UNMARKED, document_share: 0.3, floors: { ...FLOORS, document: 3 } },
  },
}
const CRAWLED_PER_SECOND = 20

export const crawl: Scenario = {
  name: 'crawl',
  title: 'Extraction: a crawl of every question against the soft and hard marks of the exposure',
  tenants: Object.entries(CRAWLERS).map(([name, limits]) => ({ name, limits, keys: 2 })),
  async play({ seconds, questions, offer }) {
    const count = questions.length * (seconds >= 30 ? 2 : 1)
    const arrivals = Object.keys(CRAWLERS).flatMap((tenant) =>
      evenly(count, (count / CRAWLED_PER_SECOND) * 1_000, { tenant }).map((arrival, n): Arrival => ({
        ...arrival,
        query: questions[n % questions.length] ?? '',
      })),
    )
    await offer('crawl', arrivals)
  },
}
