import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import { CHECKS as LOAD_CHECKS } from '#test/load/run.ts'
import type { Found, Violation } from '#test/load/checks/check.ts'
import type { Evidence } from '#test/load/evidence.ts'
import { reservationIdOf, type RequestRecord } from '#test/load/record.ts'
import { IN_FORCE_MS, type RevokedUse, type Withdrawn } from './operations.ts'
import { excuseOf, type Failure, type Fault, type Sizes } from './schedule.ts'

/** From the first effect of a fault until everything runs again; wall clock. */
export interface Window extends Fault {
  readonly fromMs: number
  /** Infinity: it was not ended. */
  readonly toMs: number
}

/** Everything that is known about a run. */
export interface FleetEvidence extends Evidence {
  readonly sizes: Sizes
  readonly windows: readonly Window[]
  /** By number of the request. */
  readonly questionOf: ReadonlyMap<number, string>
  /** When the provider was asked for the vector of a question. */
  readonly providerCallsMs: readonly number[]
  readonly work: {
    readonly activations: readonly { readonly versionId: string; readonly atMs: number }[]
    readonly unfinished: readonly string[]
    readonly active: readonly string[]
  }
  readonly withdrawn: readonly Withdrawn[]
  readonly revoked: readonly RevokedUse[]
  /** SHA-256 of each file of a good capture, and of those that the store does not give. */
  readonly captures: { readonly kept: readonly string[]; readonly lost: readonly string[] }
  /** How many tasks wanted each core, at least 1: deadlines and grace are so much longer. */
  readonly slowness: number
  /** Processes that ended by themselves. */
  readonly ended: readonly string[]
}

export interface FleetCheck {
  readonly name: string
  readonly guarantee: string
  find(evidence: FleetEvidence): Found
}

/** The phase before any fault, which asks every question once. */
export const BASELINE = 'baseline'
/** For how long after the end of a fault what it excuses is still excused. */
export const GRACE_MS = 8_000
const LATE_MS = PLATFORM_BOUNDS.requestDeadlineMs + 2_000

function check(
  name: string,
  guarantee: string,
  judge: (evidence: FleetEvidence, violated: (message: string, tenant?: string) => void) => number,
): FleetCheck {
  return {
    name,
    guarantee,
    find(evidence) {
      const violations: Violation[] = []
      const checked = judge(evidence, (message, tenant = '') => violations.push({ tenant, message }))
      return { checked, violations }
    },
  }
}

/** What a caller would call a failure of the service; undefined: none. */
function failureOf({ outcome, status, code }: RequestRecord): string | undefined {
  if (outcome === 'lost') return 'no reply' satisfies Failure
  if (outcome !== 'replied' || [200, 409, 429].includes(status)) return undefined
  return status === 503 ? (code ?? '503') : `${status} ${code}`
}

function excused(record: RequestRecord, failure: string, { windows, sizes, slowness }: FleetEvidence): boolean {
  const open = windows.filter(
    ({ fromMs, toMs }) => fromMs <= record.endedMs && record.startedMs <= toMs + GRACE_MS * slowness,
  )
  return open.some((window) => {
    const { gateway = record.gateway, failures } = excuseOf(window, open, sizes)
    return gateway === record.gateway && failures.some((one) => one === failure)
  })
}

const named = ({ n, gateway, startedMs, requestId }: RequestRecord): string =>
  `request ${n} to gateway-${gateway} at ${new Date(startedMs).toISOString()} (${requestId ?? 'without an id'})`

const CHECKS: readonly FleetCheck[] = [
  check(
    'within-scope',
    `Requests fail only while a fault excuses it, and ${GRACE_MS / 1_000} s after.`,
    (evidence, violated) => {
      for (const record of evidence.records) {
        const failure = failureOf(record)
        if (failure !== undefined && !excused(record, failure, evidence))
          violated(`${named(record)}: ${failure}, which no fault excuses`, record.tenant)
      }
      return evidence.records.length
    },
  ),
  check(
    'deadline',
    `No reply takes more than ${LATE_MS / 1_000} s, unless its gateway or the way to it has a fault.`,
    (evidence, violated) => {
      const replied = evidence.records.filter(({ outcome }) => outcome === 'replied')
      for (const record of replied) {
        const tookMs = record.endedMs - record.startedMs
        if (tookMs > LATE_MS * evidence.slowness && !excused(record, 'late', evidence))
          violated(`${named(record)} took ${tookMs} ms`)
      }
      return replied.length
    },
  ),
  check(
    'no-false-abstention',
    'A question that was answered before the faults is never abstained from, unless its passage is withdrawn.',
    ({ records, reservations, questionOf, withdrawn }, violated) => {
      const served = new Map(reservations.map((one) => [one.id, new Set(one.served.map(({ chunk }) => chunk))]))
      const answered = new Map<string, ReadonlySet<string>>()
      for (const record of records)
        if (record.phase === BASELINE && record.decision === 'answer')
          answered.set(questionOf.get(record.n) ?? '', served.get(reservationIdOf(record)) ?? new Set())
      const replied = records.filter(({ n, decision }) => decision !== null && answered.has(questionOf.get(n) ?? ''))
      for (const record of replied) {
        const passages = answered.get(questionOf.get(record.n) ?? '')
        const isWithdrawn = withdrawn.some(
          ({ chunk, fromMs, toMs }) =>
            passages?.has(chunk) === true &&
            fromMs - IN_FORCE_MS <= record.endedMs &&
            record.startedMs <= toMs + IN_FORCE_MS,
        )
        if (record.decision === 'abstain' && !isWithdrawn) violated(`${named(record)} was an abstention`)
      }
      return replied.length
    },
  ),
  check(
    'paid-after-charge',
    'The provider is asked at most once for each reservation, but for retries while it has a fault.',
    ({ providerCallsMs, reservations, windows, slowness }, violated) => {
      const faulty = windows.filter(({ party }) => party === 'provider')
      const outside = (atMs: number, graceMs: number): boolean =>
        !faulty.some(({ fromMs, toMs }) => fromMs <= atMs && atMs <= toMs + graceMs)
      const calls = providerCallsMs.filter((atMs) => outside(atMs, GRACE_MS * slowness)).length
      const charged = reservations.filter(({ admittedAtMs }) => outside(admittedAtMs, 0)).length
      if (calls > charged) violated(`the provider was asked ${calls} times for ${charged} reservations`)
      return calls
    },
  ),
  check(
    'one-version',
    'One version is active, and replies are of one that was active within the last seconds.',
    ({ records, work: { activations, active }, slowness }, violated) => {
      const last = activations.at(-1)?.versionId
      if (active.length !== 1 || active[0] !== last) violated(`active are ${active.join() || 'none'}, not ${last}`)
      const answered = records.filter(({ version }) => version !== null)
      for (const record of answered) {
        const held = activations.some(({ versionId, atMs }, at) => {
          const endsMs = activations[at + 1]?.atMs ?? Infinity
          return (
            versionId === record.version && atMs <= record.endedMs && record.startedMs <= endsMs + GRACE_MS * slowness
          )
        })
        if (!held) violated(`${named(record)} is of version ${record.version}, which was not active`)
      }
      return answered.length
    },
  ),
  check('jobs-end', 'Every build and activation that was asked for ends.', ({ work }, violated) => {
    for (const job of work.unfinished) violated(`${job} did not end`)
    return work.activations.length + work.unfinished.length
  }),
  check(
    'withdrawn',
    `A withdrawn passage is not served ${IN_FORCE_MS / 1_000} s after its withdrawal.`,
    ({ reservations, withdrawn }, violated) => {
      for (const { chunk, fromMs, toMs } of withdrawn)
        for (const { id, admittedAtMs, served } of reservations)
          if (admittedAtMs > fromMs + IN_FORCE_MS && admittedAtMs < toMs && served.some((one) => one.chunk === chunk))
            violated(`reservation ${id} served ${chunk} ${admittedAtMs - fromMs} ms after its withdrawal`)
      return withdrawn.length
    },
  ),
  check(
    'revoked',
    `A revoked key is refused ${IN_FORCE_MS / 1_000} s after its revocation.`,
    ({ revoked }, violated) => {
      const late = revoked.filter(({ afterMs }) => afterMs > IN_FORCE_MS)
      for (const { gateway, afterMs, status } of late)
        if (![0, 401, 503].includes(status))
          violated(`gateway-${gateway} replied ${status} to a revoked key after ${afterMs} ms`)
      return late.length
    },
  ),
  check('captured', 'The store gives every file of a good capture.', ({ captures }, violated) => {
    for (const sha256 of captures.lost) violated(`the store does not give ${sha256}, which was captured`)
    return captures.kept.length
  }),
  check('stays-up', 'No process ends by itself.', ({ ended, sizes }, violated) => {
    for (const message of ended) violated(message)
    return sizes.gateways + sizes.nodes + sizes.workers
  }),
]

/** Failures and kills have a scope here, so the load test's check of them is left out. */
export const FLEET_CHECKS: readonly FleetCheck[] = [
  ...LOAD_CHECKS.filter(({ name }) => name !== 'answered' && name !== 'retry-after' && name !== 'unknown-keys'),
  ...CHECKS,
]
