import { reservationIdOf, type RequestRecord } from '../record.ts'
import { periodOf } from '../evidence.ts'
import { check } from './check.ts'

function replied(records: readonly RequestRecord[], from: number, to: number): readonly RequestRecord[] {
  return records.filter(({ status }) => status >= from && status <= to)
}

function named(record: RequestRecord): string {
  return `request ${record.n} (${record.requestId ?? 'without an id'})`
}

export const chargedOnce = check(
  'charged-once',
  'Every reply with status 200 is charged once.',
  ({ records, reservations }, violated) => {
    const delivered = replied(records, 200, 200)
    const ids = new Set<string>()
    for (const record of delivered) {
      const id = reservationIdOf(record)
      const reservation = reservations.get(id)
      if (ids.has(id)) violated(`${named(record)} has the id of another request`)
      ids.add(id)
      if (reservation === undefined) violated(`${named(record)} was answered and has no reservation`)
      else if (reservation.state !== 'delivered') violated(`${named(record)} was answered and is ${reservation.state}`)
      const charges = reservation?.ledger.filter(({ charged }) => charged).length ?? 0
      if (charges > 1) violated(`${named(record)} is charged ${charges} times`)
    }
    return delivered.length
  },
)

export const refusedFree = check(
  'refused-free',
  'A refused request is never charged.',
  ({ records, reservations }, violated) => {
    const refused = replied(records, 400, 499)
    for (const record of refused) {
      const reservation = reservations.get(reservationIdOf(record))
      // A reply with a document that was copied far enough is refused after its search, and refunded.
      const afterSearch = record.code === 'RATE_LIMITED' && reservation?.state === 'refunded'
      if (reservation !== undefined && !afterSearch)
        violated(`${named(record)} was refused with ${record.code} and has a reservation that is ${reservation.state}`)
    }
    return refused.length
  },
)

export const unavailableRefunded = check(
  'unavailable-refunded',
  'A request that is answered with 503 after its admission is refunded.',
  ({ records, reservations, tenant }, violated) => {
    const refundsOfDay = Map.groupBy(
      [...reservations.values()].filter(({ state }) => state === 'refunded'),
      ({ admittedAtMs }) => periodOf('day', admittedAtMs),
    )
    let checked = 0
    for (const record of replied(records, 503, 503)) {
      const reservation = reservations.get(reservationIdOf(record))
      if (reservation === undefined) continue
      checked++
      // Refunds of a day are capped at its allowance.
      const refunds = refundsOfDay.get(periodOf('day', reservation.admittedAtMs))?.length ?? 0
      if (reservation.state !== 'refunded' && refunds < tenant.limits.requests_per_day)
        violated(`${named(record)} was answered with 503 and is ${reservation.state}`)
    }
    return checked
  },
)

export const ledgerRow = check(
  'ledger-row',
  'Every reservation has one ledger entry, which agrees with it.',
  ({ reservations }, violated) => {
    for (const { id, state, ledger } of reservations.values()) {
      const [entry] = ledger
      if (entry === undefined || ledger.length > 1) violated(`reservation ${id} has ${ledger.length} ledger entries`)
      else if (entry.state !== state || entry.charged !== (state === 'delivered' || state === 'failed'))
        violated(`reservation ${id} is ${state}; its ledger entry says ${entry.state}, charged ${entry.charged}`)
    }
    return reservations.size
  },
)

export const askedFor = check(
  'asked-for',
  'There is no reservation without a request.',
  ({ records, reservations }, violated) => {
    const ids = new Set(records.map(reservationIdOf))
    const unknown = [...reservations.keys()].filter((id) => !ids.has(id))
    // The id of a request without a reply is not known.
    const silent = records.filter(({ outcome }) => outcome === 'lost' || outcome === 'hung up').length
    if (unknown.length > silent)
      violated(`${unknown.length} reservations are of no known request; ${silent} requests got no reply`)
    return reservations.size
  },
)

export const leasesEnd = check(
  'leases-end',
  'No lease is left after the last request and the hard deadline, and no reservation stays open.',
  ({ reservations, counters }, violated) => {
    for (const { leases } of counters) if (leases > 0) violated(`${leases} leases are left`)
    for (const { id, state } of reservations.values()) if (state === 'open') violated(`reservation ${id} is still open`)
    return counters.length + reservations.size
  },
)

export const countersAgree = check(
  'counters-agree',
  'Redis counts as many charged requests of a day and a month as there are reservations.',
  ({ reservations, counters, all }, violated) => {
    if (all.settledAfterMs === null) return 0
    const charged = [...reservations.values()]
      .filter(({ state }) => state !== 'refunded')
      .flatMap(({ admittedAtMs }) => [periodOf('day', admittedAtMs), periodOf('month', admittedAtMs)])
    const counted = counters.flatMap(({ counts }) => Object.entries(counts))
    for (const [name, count] of counted) {
      const wanted = charged.filter((one) => one === name).length
      if (count !== wanted) violated(`Redis counts ${count} in ${name}; ${wanted} reservations are charged`)
    }
    return counted.length
  },
)
