import { BOUNDS } from '#core/bounds.ts'
import { ServiceError } from '#core/errors.ts'
import type { FoundPassage } from '#core/rpc/search-node.ts'
import type { SearchTier } from '../search-tier.ts'
import type { EmbeddedQuery } from './embed.ts'
import type { Exchange } from './exchange.ts'
import type { PinnedRequest } from './pin.ts'

/**
 * The best passages of the pinned projection within the pinned filters, best first.
 * @throws ServiceError RETRIEVAL_UNAVAILABLE when no node answers in time, or one answers what was not asked for.
 */
export async function search(tier: SearchTier, exchange: Exchange, pinned: PinnedRequest, query: EmbeddedQuery): Promise<readonly FoundPassage[]> {
  const request = {
    projection_id: pinned.profile.projection_id,
    query_vector: Buffer.from(query.vector.buffer, query.vector.byteOffset, query.vector.byteLength),
    limit: pinned.topK,
    filters: pinned.filters,
    ranking: { expansion: pinned.profile.parameters.expansion },
  }
  try {
    const { passages } = await exchange.timings.wait('search', tier.search(request, BOUNDS.searchTimeoutMs, exchange.signal))
    assertAsPinned(pinned, passages)
    return passages
  } catch (cause) {
    throw new ServiceError('RETRIEVAL_UNAVAILABLE', { cause })
  }
}

/** Wrong evidence is worse than none: what a node returns outside the pinned filters is refused whole. */
function assertAsPinned(pinned: PinnedRequest, passages: readonly FoundPassage[]): void {
  const { filters } = pinned
  if (passages.length > pinned.topK) throw new Error('the search node returned more passages than asked for')
  let previous = 1
  for (const { metadata, score } of passages) {
    if (
      !filters.languages.includes(metadata.language) ||
      !filters.jurisdictions.includes(metadata.jurisdiction) ||
      !filters.verification_statuses.includes(metadata.verification_status)
    )
      throw new Error('the search node returned a passage outside the pinned filters')
    if (!(score >= 0 && score <= previous)) throw new Error('the search node returned scores out of order')
    previous = score
  }
}
