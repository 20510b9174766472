import { poisson, type Arrival } from '#test/load/arrivals.ts'
import type { TenantWanted } from '#test/load/scenarios/scenario.ts'

const ARRIVALS_PER_SECOND = 6
const BURST = 4
const COPIES = 2

const UNMARKED = { soft_share: 0.1, hard_share: 0.25, document_share: 1 }

/** Callers with a limit each, and one without. */
export const TENANTS: readonly TenantWanted[] = [
  { name: 'steady', limits: {}, keys: 2 },
  { name: 'capped', limits: { concurrency: 2 }, keys: 2 },
  { name: 'rated', limits: { requests_per_minute: 12 }, keys: 2 },
  { name: 'daily', limits: { requests_per_day: 40 }, keys: 1 },
  { name: 'retrying', limits: {}, keys: 2 },
  { name: 'impatient', limits: { concurrency: 20 }, keys: 1 },
  {
    name: 'crawler',
    limits: {
      requests_per_minute: 100_000,
      exposure: { ...UNMARKED, floors: { corpus: 10, document: 10_000, daily: 1 } },
    },
    keys: 1,
  },
]

/**
 * Requests of a run, at open arrivals; the same seed gives the same ones.
 * @param about.run begins each Idempotency-Key. @param about.question of every second request of `steady`.
 */
export function drawLoad(
  seed: number,
  runMs: number,
  { run, question }: { readonly run: string; readonly question: string },
): readonly Arrival[] {
  return poisson(ARRIVALS_PER_SECOND, runMs, seed, (n, random) => ({
    tenant: random() < 0.4 ? 'steady' : (TENANTS[Math.floor(random() * TENANTS.length)]?.name ?? ''),
    key: n,
    gateway: Math.floor(random() * 1_000),
    from: String(random()),
  })).flatMap(({ from, ...arrival }, n): Arrival[] => {
    switch (arrival.tenant) {
      case 'capped':
        return Array.from({ length: BURST }, (_, copy) => ({ ...arrival, gateway: copy }))
      case 'retrying':
        return Array.from({ length: COPIES }, (_, copy) => ({
          ...arrival,
          gateway: copy,
          atMs: arrival.atMs + 30 * copy,
          idempotencyKey: `${run}-${String(n).padStart(6, '0')}`,
        }))
      case 'impatient':
        return [{ ...arrival, behaviour: { kind: 'hang up', afterMs: Number(from) * 200 } }]
      case 'steady':
        return [n % 2 === 0 ? { ...arrival, query: question } : arrival]
      default:
        return [arrival]
    }
  })
}
