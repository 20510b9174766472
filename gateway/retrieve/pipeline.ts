import { toServiceError } from '#core/platform/errors.ts'
import type { ServiceError } from '#core/platform/errors.ts'
import type { LedgerQueue } from '#core/queues/ledger-queue.ts'
import { failedOutcome } from '#core/limits/settlement.ts'
import type { Charge, Settlement } from '#core/limits/settlement.ts'
import { publicRequestId, publicTraceId } from '#core/platform/ids.ts'
import type { Log } from '#core/platform/log.ts'
import { admit } from './admit.ts'
import type { AdmitDeps, Admitted } from './admit.ts'
import { authenticate } from './authenticate.ts'
import type { AuthenticateDeps } from './authenticate.ts'
import { bound } from './bound.ts'
import type { ConcurrencyLimit, Slot } from './concurrency-limit.ts'
import { decide } from './decide.ts'
import { embed } from './embed.ts'
import type { EmbedderOf } from './embed.ts'
import { assertNotOverloaded, enter } from './enter.ts'
import { entitle } from './entitle.ts'
import { assertDocumentsOpen } from './exposure.ts'
import { stageMs } from './request-context.ts'
import type { RequestContext } from './request-context.ts'
import { narrow } from './narrow.ts'
import { parse } from './parse.ts'
import { pin } from './pin.ts'
import type { PinnedRequest } from './pin.ts'
import { read } from './read.ts'
import type { ReaderOf, ReaderUse } from './read.ts'
import { record } from './record.ts'
import { deliveredReply, errorReply } from './reply.ts'
import type { PublicIds, Reply, Windows } from './reply.ts'
import { rerank } from './rerank.ts'
import type { RerankerOf } from './rerank.ts'
import { search } from './search.ts'
import type { SearchDeps } from './search.ts'

export interface PipelineDeps extends AuthenticateDeps, AdmitDeps, SearchDeps {
  readonly concurrency: ConcurrencyLimit
  readonly embedderOf: EmbedderOf
  readonly rerankerOf: RerankerOf
  readonly readerOf: ReaderOf
  readonly settlement: Settlement
  readonly ledger: LedgerQueue
  readonly log: Log
}

/** The outcome of one request, for the log and the metrics. */
export interface Finished {
  readonly reply: Reply
  readonly error: ServiceError | undefined
  readonly decision: string | undefined
  /** What a reader did; undefined where none was asked. */
  readonly reader?: Readonly<ReaderUse> | undefined
}

/**
 * Runs one request from its headers to its reply. The first stage that fails determines the error reply; a failure
 * after `admit` is refunded.
 */
export async function retrieve(deps: PipelineDeps, context: RequestContext): Promise<Finished> {
  const { stage } = context.timings
  const ids: PublicIds = { requestId: publicRequestId(context.requestId), traceId: publicTraceId(context.traceId) }
  try {
    assertNotOverloaded(deps.concurrency)
    const digests = await stage('authenticate', () => authenticate(deps, context))
    const { request, idempotencyKey } = await stage('parse', () => parse(context))
    const { access, entitlement } = await stage('entitle', () => entitle(deps, context, digests, request))
    const narrowed = await stage('narrow', () => narrow(entitlement, request))
    const pinned = await stage('pin', () => pin(access, entitlement, narrowed, request, new Date()))
    const { clientId: client_id, knowledgeBase: knowledge_base, profile } = pinned
    Object.assign(context.about, { client_id, knowledge_base, version_id: profile.version_id })
    const slot = await stage('enter', () => enter(deps.concurrency, context))
    try {
      return await withSlot(deps, context, ids, { pinned, idempotencyKey, slot })
    } finally {
      slot.release()
    }
  } catch (thrown) {
    return refusal(ids, toServiceError(thrown), undefined)
  }
}

/** A pinned request that has a slot of the gateway. */
interface WithSlot {
  readonly pinned: PinnedRequest
  readonly idempotencyKey: string | undefined
  readonly slot: Slot
}

async function withSlot(
  deps: PipelineDeps,
  context: RequestContext,
  ids: PublicIds,
  { pinned, idempotencyKey, slot }: WithSlot,
): Promise<Finished> {
  const { stage } = context.timings
  const admission = await stage('admit', () => admit(deps, context, pinned, idempotencyKey))
  if (admission.status === 'refused') return refusal(ids, admission.error, admission.windows)
  return await settling(deps, context, ids, admission, async (paid) => {
    const query = await stage('embed', () => embed(deps.embedderOf, context, pinned, slot))
    paid.tokens = query.tokens
    const found = await stage('search', () => search(deps, context, pinned, query))
    const ranked = await stage('rerank', () =>
      slot.whileReleased(() => rerank(deps.rerankerOf, context, pinned, found)),
    )
    const evidence = await stage('read', () => read(deps.readerOf, context, { pinned, slot }, ranked, paid.reader))
    const abstention = await stage('decide', () => decide(pinned, evidence))
    const bounded = await stage('bound', () => bound(ids, pinned, query, evidence.passages, abstention))
    assertDocumentsOpen(admission.windows.decision, bounded.served)
    await stage('record', () =>
      record(deps, context, pinned, admission, { query, evidence, reader: paid.reader, abstention, reply: bounded }),
    )
    const reply = await stage('reply', () => deliveredReply(ids, bounded.body, admission.windows))
    return { reply, error: undefined, decision: abstention.decision, reader: paid.reader }
  })
}

/** @param windows undefined until admission was evaluated. */
function refusal(ids: PublicIds, error: ServiceError, windows: Windows | undefined): Finished {
  return { reply: errorReply(ids, error, windows), error, decision: undefined }
}

/** What an admitted request has used of providers so far. */
interface Paid {
  /** Tokens that the embedding provider reported; null while it has reported none. */
  tokens: number | null
  readonly reader: ReaderUse
}

/**
 * Runs the work of an admitted request. In every outcome its reservation is settled and its ledger entry requested; the
 * sweeper repairs a settlement that fails.
 */
async function settling(
  deps: PipelineDeps,
  context: RequestContext,
  ids: PublicIds,
  { charge, windows }: Admitted,
  work: (paid: Paid) => Promise<Finished>,
): Promise<Finished> {
  const paid: Paid = { tokens: null, reader: { result: null, tokens: null } }
  try {
    return await work(paid)
  } catch (thrown) {
    const error = toServiceError(thrown)
    const { settlement } = deps
    const used = {
      query_embedding_tokens: paid.tokens,
      reader: paid.reader.result,
      reader_tokens: paid.reader.tokens,
      node: context.about.node ?? null,
      stage_ms: stageMs(context.timings),
    }
    try {
      if (!charge.settled && context.callerGone())
        await settlement.abandon(charge, failedOutcome(null, windows.pinned.topK, used))
      else if (!charge.settled) await settlement.refund(charge, failedOutcome(error.code, windows.pinned.topK, used))
    } catch (failure) {
      deps.log.warn(
        'settlement is left to the sweeper',
        { request_id: publicRequestId(context.requestId), ...context.about },
        failure,
      )
    }
    return { ...refusal(ids, error, windows), reader: paid.reader }
  } finally {
    requestEntry(deps.ledger, charge)
  }
}

/** While an outcome is uncertain, its entry must wait: what the ledger has cannot be refunded any more. */
function requestEntry(ledger: LedgerQueue, { requestId, uncertain }: Charge): void {
  if (uncertain === undefined) ledger.settled(requestId)
  else void uncertain.then(() => ledger.settled(requestId))
}
