import { bearing } from '#core/domain/retrieval-profile.ts'
import { ServiceError, toServiceError } from '#core/platform/errors.ts'
import type { LedgerQueue } from '#core/queues/ledger-queue.ts'
import { failedOutcome, type Charge, type RequestUse, type Settlement } from '#core/limits/settlement.ts'
import type { Log } from '#core/platform/log.ts'
import { admit, type AdmitDeps, type Admitted } from './admit.ts'
import { authenticate, type AuthenticateDeps } from './authenticate.ts'
import { bound } from './bound.ts'
import type { ConcurrencyLimit, Slot } from './concurrency-limit.ts'
import { decide, assertDecided } from './decide.ts'
import { embed, type EmbedderOf } from './embed.ts'
import { entitle } from './entitle.ts'
import { DocumentStopped, assertDocumentsOpen } from './exposure.ts'
import { stageMs, type RequestContext } from './request-context.ts'
import { narrow } from './narrow.ts'
import { parse } from './parse.ts'
import { pin, type PinnedRequest } from './pin.ts'
import { read, type ReaderOf, type ReaderUse } from './read.ts'
import { record } from './record.ts'
import { deliveredReply, errorReply, usageOf, type Reply, type Windows } from './reply.ts'
import { rewrite, type RewriterOf, type RewriterUse } from './rewrite.ts'
import type { RetrievalRequest } from './schema.ts'
import { search, type SearchDeps } from './search.ts'

export interface PipelineDeps extends AuthenticateDeps, AdmitDeps, SearchDeps {
  readonly concurrency: ConcurrencyLimit
  readonly embedderOf: EmbedderOf
  readonly rewriterOf: RewriterOf
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
  readonly reader?: Readonly<ReaderUse> | undefined
  readonly rewriter?: Readonly<RewriterUse> | undefined
}

// The stages of a request in order, in three parts: what runs before its body is read, the body, and what runs on a
// request within the schema. The first stage that fails determines the error reply.

/** Refuses at once while other requests wait in vain for a slot. */
export async function identify(deps: PipelineDeps, context: RequestContext): Promise<void> {
  if (deps.concurrency.isOverloaded()) throw overloaded()
  await context.timings.stage('authenticate', () => authenticate(deps, context))
}

export function readRequest(context: RequestContext): Promise<unknown> {
  return context.timings.stage('parse', () => parse(context))
}

export async function retrieve(
  deps: PipelineDeps,
  context: RequestContext,
  request: RetrievalRequest,
): Promise<Finished> {
  const { stage } = context.timings
  const { access, entitlement } = await stage('entitle', () => entitle(deps, context, request))
  const narrowed = await stage('narrow', () => narrow(entitlement, request))
  const pinned = await stage('pin', () => pin(access, entitlement, narrowed, request, new Date()))
  const { clientId: client_id, knowledgeBase: knowledge_base, profile } = pinned
  Object.assign(context.about, { client_id, knowledge_base, version_id: profile.version_id })
  const slot = await stage('enter', () => enter(deps.concurrency, context))
  try {
    const admission = await stage('admit', () => admit(deps, context, pinned))
    context.usage = admission.windows && usageOf(admission.windows)
    if (admission.status === 'refused') return refusal(context, admission.error, admission.windows)
    return await settling(deps, context, pinned, slot, admission)
  } finally {
    slot.release()
  }
}

/**
 * Runs the work of an admitted request. In every outcome its reservation is settled and its ledger entry requested; the
 * sweeper repairs a settlement that fails.
 */
async function settling(
  deps: PipelineDeps,
  context: RequestContext,
  pinned: PinnedRequest,
  slot: Slot,
  admission: Admitted,
): Promise<Finished> {
  const { stage } = context.timings
  const rewriter: RewriterUse = { result: null, tokens: null }
  const reader: ReaderUse = { result: null, tokens: null }
  let tokens: number | null = null
  try {
    const queries = await stage('rewrite', () => rewrite(deps.rewriterOf, context, { pinned, slot }, rewriter))
    const query = await stage('embed', () => embed(deps.embedderOf, context, pinned, slot, queries))
    tokens = query.tokens
    const found = await stage('search', () => search(deps, context, pinned, query, queries))
    const evidence = await stage('read', () => read(deps.readerOf, context, { pinned, slot }, found, reader))
    context.firstScore = evidence.passages[0]?.score ?? 0
    const abstention = await stage('decide', () => decide(pinned, evidence))
    assertDecided(abstention, rewriter, reader)
    const reply = await stage('bound', () =>
      bound(context.ids, pinned, query, bearing(pinned.profile.parameters, evidence.passages), abstention),
    )
    assertDocumentsOpen(admission.windows.decision, reply.served)
    await stage('record', () =>
      record(deps, context, pinned, admission, { query, queries, evidence, rewriter, reader, abstention, reply }),
    )
    const delivered = await stage('reply', () => deliveredReply(context.ids, reply.body, admission.windows))
    return { reply: delivered, error: undefined, decision: abstention.decision, rewriter, reader }
  } catch (thrown) {
    const error = toServiceError(thrown)
    await settleFailure(deps, context, admission, error, {
      query_embedding_tokens: tokens,
      rewriter: rewriter.result,
      rewriting_tokens: rewriter.tokens,
      reader: reader.result,
      reader_tokens: reader.tokens,
      node: context.about.node ?? null,
      stage_ms: stageMs(context.timings),
    })
    return { ...refusal(context, error, admission.windows), rewriter, reader }
  } finally {
    requestEntry(deps.ledger, admission.charge)
  }
}

/** Refunds, unless the caller hung up. */
async function settleFailure(
  { settlement, log }: PipelineDeps,
  context: RequestContext,
  { charge, windows }: Admitted,
  error: ServiceError,
  used: RequestUse,
): Promise<void> {
  try {
    const { topK } = windows.pinned
    if (charge.settled) return
    if (context.callerGone()) await settlement.abandon(charge, failedOutcome(null, topK, used))
    else {
      const stopped = error instanceof DocumentStopped ? error.document : undefined
      await settlement.refund(charge, failedOutcome(error.code, topK, used), stopped)
    }
  } catch (failure) {
    log.warn('settlement is left to the sweeper', { request_id: context.ids.requestId, ...context.about }, failure)
  }
}

/**
 * Waits for a slot, before anything of the request is charged.
 * @throws ServiceError INTERNAL_UNAVAILABLE when the gateway has more requests than it can finish in time.
 */
async function enter(concurrency: ConcurrencyLimit, context: RequestContext): Promise<Slot> {
  const slot = await concurrency.enter(context.signal)
  if (slot === undefined) throw overloaded()
  return slot
}

function overloaded(): ServiceError {
  const cause = new Error('the gateway has more requests than it can finish in time')
  return new ServiceError('INTERNAL_UNAVAILABLE', { cause })
}

/** @param windows undefined until admission was evaluated. */
export function refusal({ ids }: RequestContext, error: ServiceError, windows?: Windows): Finished {
  return { reply: errorReply(ids, error, windows), error, decision: undefined }
}

/** While an outcome is uncertain, its entry must wait: what the ledger has cannot be refunded any more. */
function requestEntry(ledger: LedgerQueue, { requestId, uncertain }: Charge): void {
  if (uncertain === undefined) ledger.settled(requestId)
  else void uncertain.then(() => ledger.settled(requestId))
}
