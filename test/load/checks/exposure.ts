import type { ServedPassage } from '#core/domain/exposure.ts'
import type { PlanLimits } from '#core/domain/quota-plan.ts'
import { LIMIT_BOUNDS } from '#core/limits/bounds.ts'
import { REDIS_BOUNDS } from '#core/redis/bounds.ts'
import { reservationIdOf } from '../record.ts'
import { perTenant } from './check.ts'
import type { Check } from './check.ts'

/** Past the soft mark a fifth of the rate is left (core/limits/README.md). */
const TIGHTENED_RATE_DIVISOR = 5
const MINUTE_MS = 60_000

/** Distinct passages that were served so far. */
interface Exposure {
  add(passages: readonly ServedPassage[]): void
  /** The mark that is reached; undefined: none. */
  reached(limits: PlanLimits, corpusPassages: number): 'hard' | 'soft' | undefined
}

function createExposure(): Exposure {
  const chunks = new Set<string>()
  const documents = new Map<string, { readonly positions: Map<string, Set<number>>; total: number; count: number }>()
  return {
    add(passages) {
      for (const { chunk, document, revision, ordinal, total } of passages) {
        chunks.add(chunk)
        const held = documents.get(document) ?? { positions: new Map<string, Set<number>>(), total, count: 0 }
        documents.set(document, held)
        const ordinals = held.positions.get(revision) ?? new Set()
        if (!ordinals.has(ordinal)) held.count++
        held.positions.set(revision, ordinals.add(ordinal))
        held.total = total
      }
    },
    reached({ exposure }, corpusPassages) {
      const mark = (share: number): number => Math.max(Math.floor(share * corpusPassages), exposure.floors.corpus)
      const run = Math.max(exposure.run, exposure.floors.run)
      const document = [...documents.values()].some(
        ({ positions, total, count }) =>
          count >= Math.max(Math.floor(exposure.document_share * total), exposure.floors.document) ||
          [...positions.values()].some((ordinals) => longestRun(ordinals) >= run),
      )
      if (document || chunks.size >= mark(exposure.hard_share)) return 'hard'
      return chunks.size >= mark(exposure.soft_share) ? 'soft' : undefined
    },
  }
}

function longestRun(ordinals: ReadonlySet<number>): number {
  let longest = 0
  for (const first of ordinals) {
    if (ordinals.has(first - 1)) continue
    let length = 1
    while (ordinals.has(first + length)) length++
    longest = Math.max(longest, length)
  }
  return longest
}

/** A settlement that Redis does not follow at once is repeated after its reply was sent. */
const COUNTED_WITHIN_MS = 2 * (REDIS_BOUNDS.redisCommandTimeoutMs + LIMIT_BOUNDS.settlementRetryMs)

/** Only what was answered well before a request was sent surely counts against it. */
export const exposureMarks: Check = {
  name: 'exposure-marks',
  guarantee: 'Past the soft mark of the exposure the rate is a fifth; past the hard mark nothing is served.',
  outside: 'no',
  find: (evidence) =>
    perTenant(evidence, ({ tenant: { limits }, records, reservations }, violated) => {
      if (reservations === undefined || limits === undefined) return 0
      const reservationOf = (record: (typeof records)[number]): ReturnType<typeof reservations.get> =>
        reservations.get(reservationIdOf(record) ?? '')
      const served = records
        .filter(({ status }) => status === 200)
        .toSorted((one, other) => one.endedMs - other.endedMs)
        .map((record) => ({ endedMs: record.endedMs, passages: reservationOf(record)?.served ?? [] }))
      const rate = Math.max(1, Math.floor(limits.requests_per_minute / TIGHTENED_RATE_DIVISOR))
      const admittedMs = [...reservations.values()].map(({ admittedAtMs }) => admittedAtMs)
      const exposure = createExposure()
      let checked = 0
      let next = 0
      for (const record of records.toSorted((one, other) => one.startedMs - other.startedMs)) {
        for (; (served[next]?.endedMs ?? Infinity) + COUNTED_WITHIN_MS < record.startedMs; next++)
          exposure.add(served[next]?.passages ?? [])
        const mark = exposure.reached(limits, evidence.truth?.corpusPassages ?? 0)
        if (mark === undefined) continue
        checked++
        const reservation = reservationOf(record)
        if (reservation === undefined) continue
        if (mark === 'hard') violated(`request ${record.n} was admitted past the hard mark`)
        const { admittedAtMs } = reservation
        const before = admittedMs.filter((ms) => ms > admittedAtMs - MINUTE_MS && ms < admittedAtMs).length
        if (mark === 'soft' && before >= rate)
          violated(`request ${record.n} was admitted past the soft mark, after ${before} others in 60 s`)
      }
      return checked
    }),
}
