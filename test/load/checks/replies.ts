import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import { perTenant } from './check.ts'
import type { Check } from './check.ts'

/** A killed gateway's callers learn of it at once; what it was to answer ended with it. */
const KILL_MARGIN_MS = 1_000

export const catalogue: Check = {
  name: 'catalogue',
  guarantee: 'Every reply keeps the rules of the contract; refusals are those of its table, with Retry-After.',
  outside: 'whole',
  find: (evidence) =>
    perTenant(evidence, ({ records }, violated) => {
      const replied = records.filter(({ outcome }) => outcome === 'replied')
      for (const { n, status, faults } of replied)
        for (const fault of faults) violated(`the reply ${status} of request ${n} breaks: ${fault}`)
      return replied.length
    }),
}

export const answered: Check = {
  name: 'answered',
  guarantee: 'Every request is answered, unless its caller hung up or its gateway was killed.',
  outside: 'whole',
  find: (evidence) =>
    perTenant(evidence, ({ records }, violated) => {
      const sent = records.filter(({ outcome }) => outcome !== 'not sent')
      for (const { n, phase, outcome, code, gateway, startedMs, endedMs } of sent) {
        const killed = evidence.kills.some(
          (kill) =>
            kill.gateway === gateway &&
            startedMs <= kill.atMs + PLATFORM_BOUNDS.hardDeadlineMs &&
            endedMs >= kill.atMs - KILL_MARGIN_MS,
        )
        if (outcome === 'lost' && !killed) violated(`request ${n} of "${phase}" got no reply (${code})`)
      }
      return sent.length
    }),
}

export const unknownKeys: Check = {
  name: 'unknown-keys',
  guarantee: 'An unknown key is always refused with 401, and known keys pass however many unknown ones come.',
  outside: 'whole',
  find: (evidence) => {
    const attacked = evidence.records.some(({ unknownKey }) => unknownKey)
    return perTenant(evidence, ({ records }, violated) => {
      const replied = attacked ? records.filter(({ outcome }) => outcome === 'replied') : []
      for (const { n, status, code, unknownKey } of replied)
        if (unknownKey !== (status === 401 && code === 'INVALID_API_KEY'))
          violated(`request ${n} with ${unknownKey ? 'an unknown' : 'a known'} key was answered with ${status}`)
      return replied.length
    })
  },
}

export const idempotency: Check = {
  name: 'idempotency',
  guarantee: 'Of requests with one Idempotency-Key one is charged, and a conflict names a request with that key.',
  outside: 'whole',
  find: (evidence) =>
    perTenant(evidence, ({ records, reservations }, violated) => {
      const keyed = records.filter(({ idempotencyKey }) => idempotencyKey !== null)
      for (const [key, group] of Map.groupBy(keyed, ({ idempotencyKey }) => idempotencyKey)) {
        const own = new Set(group.map(({ requestId }) => requestId))
        const charged = group.filter(({ status, requestId }) =>
          reservations === undefined
            ? status === 200
            : (reservations.get(requestId?.replace(/^req_/, '') ?? '')?.state ?? 'refunded') !== 'refunded',
        )
        if (charged.length > 1) violated(`${charged.length} requests with the key ${key} are charged`)
        const silent = group.some(({ outcome }) => outcome !== 'replied')
        for (const { n, status, originalRequestId } of group)
          if (status === 409 && !own.has(originalRequestId) && !silent)
            violated(`the conflict of request ${n} names ${originalRequestId}, which had another key`)
      }
      return keyed.length
    }),
}
