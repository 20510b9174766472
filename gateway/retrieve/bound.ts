import { ServiceError } from '#core/platform/errors.ts'
import type { FoundPassage } from '#core/domain/search.ts'
import type { EmbeddedQuery } from './embed.ts'
import type { PinnedRequest } from './pin.ts'
import type { Abstention, Result, RetrievalResponse } from './schema.ts'

export interface BoundedReply {
  readonly body: Buffer
  /** The passages in the body. */
  readonly served: readonly FoundPassage[]
}

interface ReplyIds {
  readonly requestId: string
  readonly traceId: string
}

/**
 * Encodes the reply. Whole passages are dropped from the end until it fits the plan; none is truncated.
 * @throws ServiceError RETRIEVAL_UNAVAILABLE when not even one passage of an answer fits.
 */
export function bound(
  ids: ReplyIds,
  pinned: PinnedRequest,
  query: EmbeddedQuery,
  passages: readonly FoundPassage[],
  abstention: Abstention,
): BoundedReply {
  const { max_response_bytes: bytesMax } = pinned.limits
  const candidates = abstention.decision === 'answer' ? passages : []
  const texts = candidates.map((passage) => JSON.stringify(resultOf(passage)))
  for (let count = candidates.length; count >= Math.min(1, candidates.length); count--) {
    const body = encode(ids, pinned, query, abstention, texts, count)
    if (body.length <= bytesMax) return { body, served: candidates.slice(0, count) }
  }
  throw new ServiceError('RETRIEVAL_UNAVAILABLE', {
    cause: new Error('the smallest reply exceeds the response bound of the plan'),
  })
}

/** Exactly the contract's fields; other fields of the search node's reply never reach a caller. */
function resultOf(passage: FoundPassage): Result {
  const { document, citation, metadata } = passage
  return {
    chunk_id: passage.chunkId,
    text: passage.text,
    score: passage.score,
    document: {
      id: document.id,
      revision_id: document.revisionId,
      title: document.title,
      authority: document.authority,
      canonical_url: document.canonicalUrl,
      published_at: document.publishedAt,
      effective_at: document.effectiveAt,
    },
    citation: {
      label: citation.label,
      source_anchor: citation.sourceAnchor,
      source_snapshot_id: citation.sourceSnapshotId,
    },
    metadata: {
      language: metadata.language,
      jurisdiction: metadata.jurisdiction,
      verification_status: metadata.verificationStatus as Result['metadata']['verification_status'],
    },
  }
}

function encode(
  ids: ReplyIds,
  pinned: PinnedRequest,
  query: EmbeddedQuery,
  abstention: Abstention,
  texts: readonly string[],
  count: number,
): Buffer {
  const head = JSON.stringify({
    request_id: ids.requestId,
    knowledge_base: pinned.knowledgeBase,
    version: pinned.profile.version_id,
    retrieval_profile: pinned.profile.id,
  } satisfies Partial<RetrievalResponse>)
  const tail = JSON.stringify({ trace_id: ids.traceId, abstention } satisfies Partial<RetrievalResponse>)
  const usage = JSON.stringify({
    query_embedding_tokens: query.tokens,
    result_count: count,
    top_k: pinned.topK,
    dropped_for_size: texts.length - count,
  } satisfies Partial<RetrievalResponse['usage']>)
  const text =
    `${head.slice(0, -1)},"results":[${texts.slice(0, count).join(',')}],${tail.slice(1, -1)},` +
    `"usage":${usage.slice(0, -1)},"response_bytes":`
  const withoutCount = Buffer.byteLength(text) + 2
  return Buffer.from(`${text}${lengthIncludingItself(withoutCount)}}}`)
}

/** The smallest n with n = rest + digits(n): the body states its own length. */
function lengthIncludingItself(rest: number): number {
  let length = rest + String(rest).length
  while (rest + String(length).length !== length) length = rest + String(length).length
  return length
}
