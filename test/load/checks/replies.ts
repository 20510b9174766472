import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import { reservationIdOf } from '../record.ts'
import { check } from './check.ts'

/** A killed gateway's callers learn of it at once; what it was to answer ended with it. */
const KILL_MARGIN_MS = 1_000

export const catalogue = check(
  'catalogue',
  'Every reply keeps the rules of the contract; refusals are those of its table, with Retry-After.',
  ({ records }, violated) => {
    const replied = records.filter(({ outcome }) => outcome === 'replied')
    for (const { n, status, faults } of replied)
      for (const fault of faults) violated(`the reply ${status} of request ${n} breaks: ${fault}`)
    return replied.length
  },
)

export const answered = check(
  'answered',
  'Every request is answered, unless its caller hung up or its gateway was killed.',
  ({ records, all }, violated) => {
    const sent = records.filter(({ outcome }) => outcome !== 'not sent')
    for (const { n, phase, outcome, code, gateway, startedMs, endedMs } of sent) {
      const killed = all.kills.some(
        (kill) =>
          kill.gateway === gateway &&
          startedMs <= kill.atMs + PLATFORM_BOUNDS.hardDeadlineMs &&
          endedMs >= kill.atMs - KILL_MARGIN_MS,
      )
      if (outcome === 'lost' && !killed) violated(`request ${n} of "${phase}" got no reply (${code})`)
    }
    return sent.length
  },
)

export const unknownKeys = check(
  'unknown-keys',
  'An unknown key is always refused with 401, and known keys pass however many unknown ones come.',
  ({ records, all }, violated) => {
    if (!all.records.some(({ unknownKey }) => unknownKey)) return 0
    const replied = records.filter(({ outcome }) => outcome === 'replied')
    for (const { n, status, code, unknownKey } of replied)
      if (unknownKey !== (status === 401 && code === 'INVALID_API_KEY'))
        violated(`request ${n} with ${unknownKey ? 'an unknown' : 'a known'} key was answered with ${status}`)
    return replied.length
  },
)

export const idempotency = check(
  'idempotency',
  'Of requests with one Idempotency-Key one is charged, and a conflict names a request with that key.',
  ({ records, reservations }, violated) => {
    const keyed = records.filter(({ idempotencyKey }) => idempotencyKey !== null)
    for (const [key, group] of Map.groupBy(keyed, ({ idempotencyKey }) => idempotencyKey)) {
      const own = new Set(group.map(({ requestId }) => requestId))
      const charged = group.filter(
        (record) => (reservations.get(reservationIdOf(record))?.state ?? 'refunded') !== 'refunded',
      )
      if (charged.length > 1) violated(`${charged.length} requests with the key ${key} are charged`)
      const silent = group.some(({ outcome }) => outcome !== 'replied')
      for (const { n, status, originalRequestId } of group)
        if (status === 409 && !own.has(originalRequestId) && !silent)
          violated(`the conflict of request ${n} names ${originalRequestId}, which had another key`)
    }
    return keyed.length
  },
)
