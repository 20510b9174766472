import { ServiceError } from '#core/platform/errors.ts'
import { reordered, rerankedText } from '#core/reranking/order.ts'
import { createReranker } from '#core/reranking/reranker.ts'
import type { Reranker, RerankSettings } from '#core/reranking/reranker.ts'
import type { Exchange } from './exchange.ts'
import type { PinnedRequest } from './pin.ts'
import type { Evidence } from './search.ts'

/** Opened when a profile first needs it: a gateway whose profiles do not re-rank needs no endpoint. */
export type RerankerOf = () => Reranker

export function rerankerOf(settings: RerankSettings): RerankerOf {
  let opened: Reranker | undefined
  return () => (opened ??= createReranker(settings))
}

/**
 * The first passages in the order of the profile's re-ranker, cut to what was asked for; as they are where the profile
 * has none. A profile was evaluated with its re-ranker, so without it there is no answer.
 * @throws ServiceError RETRIEVAL_UNAVAILABLE when the endpoint fails or this gateway has none.
 */
export async function rerank(
  rerankers: RerankerOf,
  exchange: Exchange,
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
        : await exchange.timings.wait(
            'provider',
            rerankers().score(reranker.model, pinned.query, candidates.map(rerankedText), exchange.signal),
          )
    return { ...found, passages: reordered(found.passages, scores).slice(0, pinned.topK) }
  } catch (cause) {
    throw new ServiceError('RETRIEVAL_UNAVAILABLE', { cause })
  }
}
