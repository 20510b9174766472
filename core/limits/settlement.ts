import { setTimeout as sleep } from 'node:timers/promises'
import pLimit from 'p-limit'
import { inTransaction, type Database } from '#core/db/pool.ts'
import type { ReservationWriter } from '#core/db/reservation-writer.ts'
import { recordAbandoned, refundRefused, refundReservation } from '#core/db/reservations.ts'
import type { Delivered, Outcome } from '#core/db/reservations.ts'
import { LIMIT_BOUNDS } from '#core/limits/bounds.ts'
import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import { publicRequestId } from '#core/platform/ids.ts'
import type { Log } from '#core/platform/log.ts'
import { withTimeout } from '#core/platform/with-timeout.ts'
import type { LimitScope } from './counter-keys.ts'
import type { Counters, Settled, StoppedDocument, Usage } from './counters.ts'

/** A charged and reserved request, until it is settled. */
export interface Charge {
  readonly scope: LimitScope
  readonly requestId: string
  /** Under the service secret that is used for what is written. */
  readonly idempotencyDigest: Buffer | undefined
  /** When this process learnt that the reservation is committed; monotonic, ms. */
  readonly reservedAtMs: number
  /** Set once Postgres has the outcome, or the refusal was decided without it. */
  settled: boolean
  /** Set if the caller is refused and Postgres did not say what is true; resolves when it said so, or never will. */
  uncertain: Promise<void> | undefined
}

/** What is delivered, as Postgres keeps it. */
export type Delivery = Pick<Delivered, 'outcome' | 'served' | 'replay' | 'grounds'>

export type RefundState = 'refunded' | 'failed' | 'delivered' | 'gone'

export interface SettlementDeps {
  readonly database: Database
  readonly reservations: Pick<ReservationWriter, 'recordDelivered'>
  readonly counters: Pick<Counters, 'settle'>
  readonly log: Log
}

/**
 * The ends of an admitted request. Postgres decides each, then the counters follow. If the counters cannot follow, the
 * lease stays in Redis past its deadline, and the next admission has them rebuilt.
 */
export type Settlement = ReturnType<typeof createSettlement>

export function createSettlement({ database, reservations, counters, log }: SettlementDeps) {
  const { repeat, idle } = createRepeater(log)
  // Refunds of one entitlement wait for each other, so many at once would hold every connection of the pool.
  const limited = pLimit(LIMIT_BOUNDS.refundsAtOnce)

  async function settleCounters(scope: LimitScope, settled: Settled): Promise<Usage | undefined> {
    const answer = await counters.settle(scope, settled).catch(() => undefined)
    if (answer === undefined)
      void repeat('settlement of the counters', settled.requestId, PLATFORM_BOUNDS.hardDeadlineMs, async () => {
        return (await counters.settle(scope, settled)) !== undefined
      })
    return answer?.usage
  }

  async function refund(
    requestId: string,
    outcome: Outcome,
    settle = refundReservation,
    countersToo = true,
    stopped?: StoppedDocument,
  ): Promise<RefundState> {
    const settled = await limited(() => inTransaction(database, (client) => settle(client, requestId, outcome)))
    if (settled === undefined || settled.state === 'open') return 'gone'
    const { state, idempotencyDigest, ...scope } = settled
    if (countersToo && state !== 'delivered')
      await settleCounters(scope, {
        requestId,
        ending: state === 'refunded' ? 'refund' : 'fail',
        idempotencyDigest,
        served: [],
        stopped,
      })
    return state
  }

  const deps = { reservations, refund, repeat, settleCounters, log }
  return {
    /**
     * Records what is about to be delivered, ends the lease and counts the exposure.
     * @param leftMs until the caller is refused in any case.
     * @returns false if the request was settled otherwise; it is then charged nothing more.
     * @throws if Postgres does not answer in time. The outcome is then refunded as soon as Postgres answers.
     */
    deliver: (charge: Charge, delivery: Delivery, leftMs: number) => deliver(deps, charge, delivery, leftMs),
    /**
     * Refunds a request whose caller is refused. Past the daily cap of refunds it stays charged: "failed".
     * @param stopped the document at its mark for which the reply was not sent.
     */
    async refund(charge: Charge, outcome: Outcome, stopped?: StoppedDocument) {
      const state = await refund(charge.requestId, outcome, refundReservation, true, stopped)
      charge.settled = true
      return state
    },
    /** The caller disconnected: the request stays charged. */
    async abandon(charge: Charge, outcome: Outcome) {
      const recorded = await recordAbandoned(database, charge.requestId, outcome)
      charge.settled = true
      // If the sweeper settled it first, the counters follow the sweeper.
      if (recorded) await settleCounters(charge.scope, { ...charge, ending: 'fail', served: [] })
    },
    /**
     * Takes the whole charge under this epoch back. @returns the usage then; undefined where the counters cannot follow
     * now.
     */
    undo: (charge: Pick<Charge, 'scope' | 'requestId' | 'idempotencyDigest'>, epoch: string) =>
      settleCounters(charge.scope, { ...charge, ending: 'undo', epoch, served: [] }),
    /** Refunds an open reservation whose gateway did not settle it; a rebuild counts the refund itself. */
    refundOverdue: (requestId: string, where?: 'postgres only') =>
      refund(requestId, failedOutcome('INTERNAL_UNAVAILABLE', 0, null), refundReservation, where === undefined),
    /** Refunds a reservation that may have been written; Postgres did not tell. Repeats in the background. */
    refundUncertain: (requestId: string) =>
      void repeat('refund of an uncertain reservation', requestId, PLATFORM_BOUNDS.hardDeadlineMs, async () => {
        await refund(requestId, failedOutcome('INTERNAL_UNAVAILABLE', 0, null))
        return true
      }),
    idle,
  }
}

function createRepeater(log: Log) {
  const repeating = new Set<Promise<void>>()
  return {
    /** Repeats `attempt` until it returns true; gives up after `forMs`, or at once while too many repeat. */
    repeat(what: string, requestId: string, forMs: number, attempt: () => Promise<boolean>): Promise<void> {
      if (repeating.size >= LIMIT_BOUNDS.settlementsRepeatedMax) {
        log.warn(`${what} not repeated: too many repeat`, { request_id: publicRequestId(requestId) })
        return Promise.resolve()
      }
      const endsAtMs = performance.now() + forMs
      const task = (async () => {
        while (performance.now() < endsAtMs) {
          await sleep(LIMIT_BOUNDS.settlementRetryMs, undefined, { ref: false })
          if (await attempt().catch(() => false)) return
        }
        log.warn(`${what} given up`, { request_id: publicRequestId(requestId) })
      })().finally(() => repeating.delete(task))
      repeating.add(task)
      return task
    },
    /** Resolves when no settlement is being repeated, or after `timeoutMs`. */
    async idle(timeoutMs: number) {
      await Promise.race([Promise.allSettled(repeating), sleep(timeoutMs, undefined, { ref: false })])
    },
  }
}

interface DeliverDeps {
  readonly reservations: Pick<ReservationWriter, 'recordDelivered'>
  readonly refund: (requestId: string, outcome: Outcome, settle?: typeof refundRefused) => Promise<RefundState>
  readonly repeat: ReturnType<typeof createRepeater>['repeat']
  readonly settleCounters: (scope: LimitScope, settled: Settled) => Promise<Usage | undefined>
  readonly log: Log
}

async function deliver(deps: DeliverDeps, charge: Charge, delivery: Delivery, leftMs: number): Promise<boolean> {
  const endsAtMs = performance.now() + Math.min(leftMs, LIMIT_BOUNDS.recordTimeoutMs)
  const withinMs = endsAtMs - charge.reservedAtMs
  const delivered = { ...delivery, id: charge.requestId, withinMs }
  const recorded = await recordUntil(deps, charge, delivery.outcome, endsAtMs, () =>
    deps.reservations.recordDelivered(delivered),
  )
  charge.settled = true
  if (recorded) await deps.settleCounters(charge.scope, { ...charge, ending: 'deliver', served: delivery.served })
  return recorded
}

/**
 * Records, and records again if the first attempt fails: a statement that arrives late fails, but its answer may have
 * been lost after it succeeded. If both attempts fail, a refund is tried until Postgres says what is true. A caller who
 * is refused before that is refunded as soon as Postgres answers, even if the outcome was recorded meanwhile.
 */
async function recordUntil(
  { refund, repeat, log }: DeliverDeps,
  charge: Charge,
  outcome: Outcome,
  endsAtMs: number,
  record: () => Promise<boolean>,
): Promise<boolean> {
  const undeliveredOutcome = failedOutcome('INTERNAL_UNAVAILABLE', outcome.top_k, outcome)
  const attempts = [record, record, async () => (await refund(charge.requestId, undeliveredOutcome)) === 'delivered']
  let last: unknown
  for (let attempt = 0; ; attempt++) {
    const leftMs = endsAtMs - performance.now()
    const next = attempts[Math.min(attempt, attempts.length - 1)]
    if (leftMs <= 0 || next === undefined) break
    try {
      return await withTimeout(leftMs, 'Postgres did not answer in time', next())
    } catch (error) {
      last = error
    }
    if (attempt >= attempts.length - 1) await sleep(LIMIT_BOUNDS.settlementRetryMs)
  }
  charge.settled = true
  charge.uncertain = repeat(
    'refund of an uncertain outcome',
    charge.requestId,
    LIMIT_BOUNDS.uncertainRefundMs,
    async () => {
      const state = await refund(charge.requestId, undeliveredOutcome, refundRefused)
      if (state === 'delivered')
        log.error('request charged though its caller was refused', { request_id: publicRequestId(charge.requestId) })
      return true
    },
  )
  throw last
}

/** What a request has used, whatever became of it. */
export type RequestUse = Pick<
  Outcome,
  'query_embedding_tokens' | 'rewriter' | 'rewriting_tokens' | 'reader' | 'reader_tokens' | 'node' | 'stage_ms'
>

/** Returns the outcome of a request that ended without a chargeable reply. */
export function failedOutcome(errorCode: string | null, topK: number, used: RequestUse | null): Outcome {
  return {
    decision: null,
    error_code: errorCode,
    result_count: 0,
    response_bytes: 0,
    query_embedding_tokens: used?.query_embedding_tokens ?? null,
    rewriter: used?.rewriter ?? null,
    rewriting_tokens: used?.rewriting_tokens ?? null,
    reader: used?.reader ?? null,
    reader_tokens: used?.reader_tokens ?? null,
    signal: null,
    threshold: null,
    observed_value: null,
    top_k: topK,
    chunk_ids: [],
    reply_sha256: null,
    node: used?.node ?? null,
    stage_ms: used?.stage_ms ?? {},
  }
}
