import type { FoundPassage } from '#core/domain/search.ts'
import { ServiceError } from '#core/platform/errors.ts'
import { firstIndex } from '#core/platform/first-index.ts'
import type { EmbeddedQuery } from './embed.ts'
import type { PinnedRequest } from './pin.ts'
import type { PublicIds } from './request-context.ts'
import type { Abstention, Result, RetrievalResponse } from './schema.ts'

export type BoundedReply = ReturnType<typeof bound>

/**
 * Encodes the reply. Whole passages are dropped from the end until it fits the plan; none is truncated.
 * @throws ServiceError RETRIEVAL_UNAVAILABLE when not even one passage of an answer fits.
 */
export function bound(
  ids: PublicIds,
  pinned: PinnedRequest,
  query: EmbeddedQuery,
  passages: readonly FoundPassage[],
  abstention: Abstention,
) {
  const candidates = abstention.decision === 'answer' ? passages : []
  const results = candidates.map(resultOf)
  const bodyOf = (count: number): Buffer =>
    encode({
      request_id: ids.requestId,
      knowledge_base: pinned.knowledgeBase,
      version: pinned.profile.version_id,
      retrieval_profile: pinned.profile.id,
      results: results.slice(0, count),
      trace_id: ids.traceId,
      abstention,
      usage: {
        query_embedding_tokens: query.tokens,
        result_count: count,
        top_k: pinned.topK,
        dropped_for_size: results.length - count,
        response_bytes: 0,
      },
    })
  const fits = (body: Buffer): boolean => body.length <= pinned.limits.max_response_bytes
  const whole = bodyOf(results.length)
  if (fits(whole)) return { body: whole, served: candidates }
  const count = results.length - firstIndex(results.length, (dropped) => fits(bodyOf(results.length - dropped)))
  if (count === 0)
    throw new ServiceError('RETRIEVAL_UNAVAILABLE', {
      cause: new Error('the smallest reply exceeds the response bound of the plan'),
    })
  return { body: bodyOf(count), served: candidates.slice(0, count) }
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

/** The body states its own length: the smallest number that, with its own digits, the body is long. It ends the body. */
function encode(reply: RetrievalResponse): Buffer {
  const text = JSON.stringify(reply)
  const rest = Buffer.byteLength(text) - 1
  let bytes = rest + 1
  while (rest + String(bytes).length !== bytes) bytes = rest + String(bytes).length
  return Buffer.from(`${text.slice(0, -'0}}'.length)}${bytes}}}`)
}
