import { documentMark, exposureLevel, exposureMarks as marksUnder, type ServedPassage } from '#core/domain/exposure.ts'
import type { PlanLimits } from '#core/domain/quota-plan.ts'
import { DAY_MS } from '#core/platform/time.ts'
import { LIMIT_BOUNDS } from '#core/limits/bounds.ts'
import { REDIS_BOUNDS } from '#core/redis/bounds.ts'
import { reservationIdOf, type RequestRecord } from '../record.ts'
import { check } from './check.ts'

/** Past the soft mark a fifth of the rate is left (core/limits/README.md). */
const TIGHTENED_RATE_DIVISOR = 5
const MINUTE_MS = 60_000

/** New passages that were served so far. */
function createExposure(limits: PlanLimits, corpusPassages: number) {
  const marks = marksUnder(limits.exposure, { environment: 'live', corpusPassages, exposureAllowance: 0 })
  const chunks = new Set<string>()
  const corpus = new Map<number, number>()
  const documents = new Map<string, Map<number, number>>()
  return {
    add(passages: readonly ServedPassage[], day: number) {
      for (const { chunk, document } of passages) {
        if (chunks.has(chunk)) continue
        chunks.add(chunk)
        const days = documents.get(document) ?? new Map<number, number>()
        documents.set(document, days)
        for (const counted of [corpus, days]) counted.set(day, (counted.get(day) ?? 0) + 1)
      }
    },
    /** The mark of the corpus that is reached; undefined: none. */
    reached(day: number) {
      const level = exposureLevel(corpus, day, marks.windowDays, marks.corpus.daily)
      return level >= marks.corpus.hard ? 'hard' : level >= marks.corpus.soft ? 'soft' : undefined
    },
    /** Whether a document of these passages is at its mark. */
    stops: (passages: readonly ServedPassage[], day: number) =>
      passages.some(({ document, total }) => {
        const { hard, daily } = documentMark(marks, total, 0)
        return exposureLevel(documents.get(document) ?? new Map(), day, marks.windowDays, daily) >= hard
      }),
  }
}

const dayOf = ({ endedMs, clockOffsetMs }: RequestRecord): number => Math.floor((endedMs + clockOffsetMs) / DAY_MS)

/** A settlement that Redis does not follow at once is repeated after its reply was sent. */
const COUNTED_WITHIN_MS = 2 * (REDIS_BOUNDS.redisCommandTimeoutMs + LIMIT_BOUNDS.settlementRetryMs)

/** Only what was answered well before a request was sent surely counts against it. */
export const exposureMarks = check(
  'exposure-marks',
  'Past the soft mark of the exposure the rate is a fifth; past the hard mark nothing is served, of the corpus or of ' +
    'the document.',
  ({ tenant: { limits }, records, reservations, all }, violated) => {
    const reservationOf = (record: RequestRecord): ReturnType<typeof reservations.get> =>
      reservations.get(reservationIdOf(record))
    const served = records
      .filter(({ status }) => status === 200)
      .toSorted((one, other) => one.endedMs - other.endedMs)
      .map((record) => ({ endedMs: record.endedMs, day: dayOf(record), passages: reservationOf(record)?.served ?? [] }))
    const rate = Math.max(1, Math.floor(limits.requests_per_minute / TIGHTENED_RATE_DIVISOR))
    const admittedMs = [...reservations.values()].map(({ admittedAtMs }) => admittedAtMs)
    const exposure = createExposure(limits, all.corpusPassages)
    let checked = 0
    let next = 0
    for (const record of records.toSorted((one, other) => one.startedMs - other.startedMs)) {
      for (; (served[next]?.endedMs ?? Infinity) + COUNTED_WITHIN_MS < record.startedMs; next++)
        exposure.add(served[next]?.passages ?? [], served[next]?.day ?? 0)
      const mark = exposure.reached(dayOf(record))
      const reservation = reservationOf(record)
      if (exposure.stops(reservation?.served ?? [], dayOf(record)))
        violated(`request ${record.n} was served a document past its mark`)
      if (mark === undefined) continue
      checked++
      if (reservation === undefined) continue
      if (mark === 'hard') violated(`request ${record.n} was admitted past the hard mark`)
      const { admittedAtMs } = reservation
      const before = admittedMs.filter((ms) => ms > admittedAtMs - MINUTE_MS && ms < admittedAtMs).length
      if (mark === 'soft' && before >= rate)
        violated(`request ${record.n} was admitted past the soft mark, after ${before} others in 60 s`)
    }
    return checked
  },
)
