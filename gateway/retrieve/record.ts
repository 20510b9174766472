import { queryFingerprint, queryVectorDigest } from '#core/credentials/fingerprint.ts'
import { sha256 } from '#core/platform/digest.ts'
import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import { ServiceError } from '#core/platform/errors.ts'
import type { ServiceSecrets } from '#core/credentials/settings.ts'
import type { Grounds } from '#core/db/reservations.ts'
import { LIMIT_BOUNDS } from '#core/limits/bounds.ts'
import type { Settlement } from '#core/limits/settlement.ts'
import type { Admitted } from './admit.ts'
import type { BoundedReply } from './bound.ts'
import type { EmbeddedQuery } from './embed.ts'
import { stageMs, type RequestContext } from './request-context.ts'
import { fingerprintKeyOf } from './fingerprint-key.ts'
import type { PinnedRequest } from './pin.ts'
import type { ReaderUse } from './read.ts'
import type { RewriterUse } from './rewrite.ts'
import type { Abstention } from './schema.ts'
import type { Evidence } from './search.ts'

export interface RecordDeps {
  readonly settlement: Settlement
  readonly serviceSecrets: ServiceSecrets
}

/** Results of the stages after admission. */
export interface Produced {
  readonly query: EmbeddedQuery
  readonly queries: readonly string[]
  readonly evidence: Evidence
  readonly rewriter: Readonly<RewriterUse>
  readonly reader: Readonly<ReaderUse>
  readonly abstention: Abstention
  readonly reply: BoundedReply
}

/**
 * Commits the outcome to the reservation, then ends the lease and counts the exposure. The reply may be sent only after
 * this.
 * @throws ServiceError INTERNAL_UNAVAILABLE when the reservation is no longer open, because it was refunded as overdue,
 * or when Postgres does not answer in time.
 */
export async function record(
  deps: RecordDeps,
  context: RequestContext,
  pinned: PinnedRequest,
  { charge }: Admitted,
  { query, queries, evidence, rewriter, reader, abstention, reply }: Produced,
): Promise<void> {
  const served = reply.served.map((passage) => ({
    chunk: passage.chunkId,
    document: passage.document.id,
    total: passage.documentPassages,
  }))
  const outcome = {
    decision: abstention.decision,
    error_code: null,
    result_count: served.length,
    response_bytes: reply.body.length,
    query_embedding_tokens: query.tokens,
    rewriter: rewriter.result,
    rewriting_tokens: rewriter.tokens,
    reader: reader.result,
    reader_tokens: reader.tokens,
    signal: abstention.signal,
    threshold: abstention.threshold,
    observed_value: abstention.observed_value,
    top_k: pinned.topK,
    chunk_ids: served.map((passage) => passage.chunk),
    reply_sha256: sha256(reply.body).toString('hex'),
    node: context.about.node ?? null,
    stage_ms: stageMs(context.timings),
  }
  const isDigested = query.vector !== undefined || queries.length > 0
  const key = isDigested ? fingerprintKeyOf(deps.serviceSecrets, pinned).key : undefined
  const replay = {
    query_vector_digest: key && query.vector ? queryVectorDigest(key, query.vector).toString('hex') : null,
    rewriting_digests: key ? queries.map((text) => queryFingerprint(key, text).toString('hex')) : [],
    passage_sha256: reply.served.map((passage) => sha256(passage.text).toString('hex')),
    rerank_order: evidence.order ?? null,
  }
  const grounds = abstention.decision === 'abstain' ? groundsOf(evidence) : undefined
  const leftMs = PLATFORM_BOUNDS.requestDeadlineMs - context.timings.totalMs()
  const delivered = await context.timings.wait(
    'postgres',
    deps.settlement.deliver(charge, { outcome, served, replay, grounds }, leftMs),
  )
  if (!delivered)
    throw new ServiceError('INTERNAL_UNAVAILABLE', {
      cause: new Error('the reservation was settled before its reply was ready'),
    })
}

function groundsOf({ allowed, unsupported, passages, read }: Evidence): Grounds {
  const reasons = Map.groupBy(unsupported, ({ reason }) => reason)
  return {
    allowed,
    unsupported: Object.fromEntries([...reasons].map(([reason, all]) => [reason, all.length])),
    candidates: passages
      .slice(0, LIMIT_BOUNDS.groundsPassagesMax)
      .map(({ chunkId, score }, at) => ({ chunk_id: chunkId, score, read: read?.[at] })),
  }
}
