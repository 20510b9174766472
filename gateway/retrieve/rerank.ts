import { ServiceError } from '#core/platform/errors.ts'
import { reordered, rerankedText } from '#core/reranking/order.ts'
import { createReranker } from '#core/reranking/reranker.ts'
import type { Reranker, RerankSettings } from '#core/reranking/reranker.ts'
import type { RequestContext } from './request-context.ts'
import type { PinnedRequest } from './pin.ts'
import type { Evidence } from './search.ts'

/** Returns the re-ranker; opens it on first use, so a gateway without re-ranking profiles needs no endpoint. */
export type RerankerOf = () => Reranker

export function rerankerOf(settings: RerankSettings): RerankerOf {
  let opened: Reranker | undefined
  return () => (opened ??= createReranker(settings))
}

/**
 * Orders the first passages by the profile's re-ranker and truncates them to `topK`; without a re-ranker returns them
 * unchanged. A profile was evaluated with its re-ranker, so a failure of it fails the request.
 * @throws ServiceError RETRIEVAL_UNAVAILABLE when the endpoint fails or this gateway has none.
 */
export async function rerank(
  rerankers: RerankerOf,
  context: RequestContext,
  pinned: PinnedRequest,
  found: Evidence,
): Promise<Evidence> {
  const { reranker } = pinned.profile.parameters
  if (reranker === null) return found
  const candidates = found.passages.slice(0, reranker.candidates)
  try {
    const scores =
      candidates.length < 2
        ? []
        : await context.timings.wait(
            'provider',
            rerankers().score(reranker.model, pinned.query, candidates.map(rerankedText), context.signal),
          )
    const { passages, order } = reordered(found.passages, scores)
    const rerankScores = new Map(scores.map((score, at) => [candidates[at]?.chunkId ?? '', score]))
    return { ...found, passages: passages.slice(0, pinned.topK), rerankOrder: order, rerankScores }
  } catch (cause) {
    throw new ServiceError('RETRIEVAL_UNAVAILABLE', { cause })
  }
}
