import { toServiceError } from '#core/platform/errors.ts'
import type { ServiceError } from '#core/platform/errors.ts'
import type { LedgerQueue } from '#core/queues/ledger-queue.ts'
import { settleRefund, undelivered } from '#core/limits/refund.ts'
import { recordAbandoned } from '#core/db/reservations.ts'
import type { Log } from '#core/platform/log.ts'
import type { SearchTier } from '#gateway/search-tier.ts'
import { admit } from './admit.ts'
import type { AdmitDeps } from './admit.ts'
import { authenticate } from './authenticate.ts'
import type { AuthenticateDeps } from './authenticate.ts'
import { bound } from './bound.ts'
import { decide } from './decide.ts'
import { embed } from './embed.ts'
import type { EmbedderOf } from './embed.ts'
import { entitle } from './entitle.ts'
import type { Exchange } from './exchange.ts'
import { narrow } from './narrow.ts'
import { parse } from './parse.ts'
import { pin } from './pin.ts'
import type { PinnedRequest } from './pin.ts'
import { record } from './record.ts'
import { deliveredReply, errorReply } from './reply.ts'
import type { PublicIds, Reply, Windows } from './reply.ts'
import { rerank } from './rerank.ts'
import type { RerankerOf } from './rerank.ts'
import { search } from './search.ts'

export interface PipelineDeps extends AuthenticateDeps, AdmitDeps {
  readonly embedderOf: EmbedderOf
  readonly rerankerOf: RerankerOf
  readonly searchTier: SearchTier
  readonly ledger: LedgerQueue
  readonly log: Log
}

/** The outcome of one exchange, for the log and the metrics. */
export interface Finished {
  readonly reply: Reply
  readonly error: ServiceError | undefined
  readonly decision: string | undefined
}

/**
 * Runs one request from its headers to its reply. The first stage that fails determines the error reply; a failure
 * after `admit` is refunded.
 */
export async function retrieve(deps: PipelineDeps, exchange: Exchange): Promise<Finished> {
  const { stage } = exchange.timings
  const ids: PublicIds = { requestId: `req_${exchange.requestId}`, traceId: `ret_${exchange.traceId}` }
  try {
    const digests = await stage('authenticate', () => authenticate(deps, exchange))
    const { request, idempotencyKey } = await stage('parse', () => parse(exchange))
    const { access, entitlement } = await stage('entitle', () => entitle(deps, exchange, digests, request))
    const narrowed = await stage('narrow', () => narrow(entitlement, request))
    const pinned = await stage('pin', () => pin(access, entitlement, narrowed, request, new Date()))
    const admission = await stage('admit', () => admit(deps, exchange, pinned, idempotencyKey))
    if (admission.status === 'refused') return refusal(ids, admission.error, admission.windows)
    return await settling(deps, exchange, ids, admission.windows, async () => {
      const query = await stage('embed', () => embed(deps.embedderOf, exchange, pinned))
      const found = await stage('search', () => search(deps.searchTier, exchange, pinned, query))
      const evidence = await stage('rerank', () => rerank(deps.rerankerOf, exchange, pinned, found))
      const abstention = await stage('decide', () => decide(pinned, evidence))
      const bounded = await stage('bound', () => bound(ids, pinned, query, evidence.passages, abstention))
      await stage('record', () => record(deps, exchange, pinned, admission, query, abstention, bounded))
      const reply = await stage('reply', () => deliveredReply(ids, bounded.body, admission.windows))
      return { reply, error: undefined, decision: abstention.decision }
    })
  } catch (thrown) {
    return refusal(ids, toServiceError(thrown), undefined)
  }
}

/** @param windows undefined until admission was evaluated. */
function refusal(ids: PublicIds, error: ServiceError, windows: Windows | undefined): Finished {
  return { reply: errorReply(ids, error, windows), error, decision: undefined }
}

/**
 * Runs the work of an admitted request. In every outcome its reservation is settled and its ledger entry requested; the
 * sweeper repairs a settlement that fails.
 */
async function settling(
  deps: PipelineDeps,
  exchange: Exchange,
  ids: PublicIds,
  windows: Windows,
  work: () => Promise<Finished>,
): Promise<Finished> {
  const { pinned } = windows
  try {
    return await work()
  } catch (thrown) {
    const error = toServiceError(thrown)
    try {
      await (exchange.callerGone()
        ? abandon(deps, exchange, pinned)
        : settleRefund(deps, exchange.requestId, undelivered(error.code, pinned.topK)))
    } catch (failure) {
      deps.epochs.invalidate(pinned.organizationId)
      deps.log.warn('settlement is left to the sweeper', { request_id: exchange.requestId }, failure)
    }
    return refusal(ids, error, windows)
  } finally {
    deps.ledger.settled(exchange.requestId)
  }
}

/** A caller that disconnected stays charged; the lease ends with the work. */
async function abandon(deps: PipelineDeps, exchange: Exchange, pinned: PinnedRequest): Promise<void> {
  await recordAbandoned(deps.database, exchange.requestId, undelivered(null, pinned.topK))
  const epoch = await deps.epochs.current(pinned.organizationId)
  await deps.epochs.settle({ ...pinned, epoch }, exchange.requestId, pinned.limits, [])
}
