import { evenly } from '../arrivals.ts'
import type { Arrival } from '../arrivals.ts'
import type { Scenario, Stage, TenantWanted } from './scenario.ts'

const FLOOR = { corpus: 10, document: 10_000, daily: 1 }
const RATE = 300
const PER_SECOND = 20

export const crawl: Scenario = {
  name: 'crawl',
  title: 'Extraction: a crawl of every question against the soft and hard marks of the exposure',
  tenants: [
    // The rate is high enough for the hard mark to be reached past the soft one.
    tenant('crawler', 100_000, { soft_share: 0.1, hard_share: 0.25, document_share: 1, floors: FLOOR }),
    tenant('slowed', RATE, { soft_share: 0.05, hard_share: 1, document_share: 1, floors: FLOOR }),
    tenant('one document', 100_000, {
      soft_share: 1,
      hard_share: 1,
      document_share: 0.3,
      floors: { ...FLOOR, document: 3 },
    }),
  ],
  async play(stage) {
    const rounds = stage.seconds >= 30 ? 2 : 1
    const arrivals = ['crawler', 'slowed', 'one document'].flatMap((name) => questionsOf(stage, name, rounds))
    await stage.offer('crawl', arrivals)
  },
}

function tenant(
  name: string,
  requests_per_minute: number,
  exposure: {
    readonly soft_share: number
    readonly hard_share: number
    readonly document_share: number
    readonly floors: typeof FLOOR
  },
): TenantWanted {
  return { name, keys: 2, limits: { requests_per_minute, exposure } }
}

function questionsOf({ questions }: Stage, name: string, rounds: number): readonly Arrival[] {
  const count = questions.length * rounds
  return evenly(count, (count / PER_SECOND) * 1_000, { tenant: name }).map((arrival, n) => ({
    ...arrival,
    query: questions[n % questions.length] ?? '',
  }))
}
