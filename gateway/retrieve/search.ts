import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import { ServiceError } from '#core/platform/errors.ts'
import { passagesSearched, rankingOf } from '#core/domain/retrieval-profile.ts'
import type { FoundPassage, SearchResult, Withdrawn } from '#core/domain/search.ts'
import type { SearchTier } from '#gateway/search-tier.ts'
import type { EmbeddedQuery } from './embed.ts'
import type { RequestContext } from './request-context.ts'
import type { PinnedRequest } from './pin.ts'
import { timeLeft } from './time-left.ts'

export interface SearchDeps {
  readonly searchTier: Pick<SearchTier, 'search'>
}

/** The ranked passages of those allowed, their query performance predictors and the query's unsupported references. */
export type Evidence = Pick<SearchResult, 'passages' | 'predictors' | 'unsupported' | 'allowed'> & {
  /** Positions in the list of the search, if a reader ordered it. */
  readonly order?: readonly number[]
  /** Scores of the first passages by the profile's reader, where they decide; absent: nothing was read. */
  readonly read?: readonly number[]
  /** Whether a rewriter's queries found the list. */
  readonly rewritten?: boolean
}

/**
 * Returns the best passages of the pinned version within the pinned filters, best first; as many as the caller or
 * the reader needs.
 * @throws ServiceError RETRIEVAL_UNAVAILABLE when no node answers in time, or an answer violates the pinned request.
 */
export async function search(
  deps: SearchDeps,
  context: RequestContext,
  pinned: PinnedRequest,
  query: EmbeddedQuery,
  queries: readonly string[] = [],
): Promise<Evidence> {
  const { parameters } = pinned.profile
  const limit = passagesSearched(parameters, pinned.topK)
  try {
    const request = {
      versionId: pinned.profile.version_id,
      projection: pinned.projection,
      vector: query.vector,
      text: pinned.query,
      rewritten: queries,
      limit,
      filters: pinned.filters,
      entitled: pinned.entitled,
      withdrawn: pinned.withdrawn,
      ranking: rankingOf(parameters, pinned.inForceOn),
    }
    const { node, ...found } = await context.timings.wait(
      'search',
      deps.searchTier.search(
        request,
        Math.min(PLATFORM_BOUNDS.searchTimeoutMs, timeLeft('search', context, pinned)),
        context.signal,
        { request_id: context.ids.requestId, ...context.about },
      ),
    )
    context.about.node = node
    assertAsPinned(pinned, found.passages, limit)
    return { ...found, rewritten: queries.length > 0 }
  } catch (cause) {
    throw new ServiceError('RETRIEVAL_UNAVAILABLE', { cause })
  }
}

/** Refuses the whole result if it violates the pinned request, because wrong evidence is worse than none. */
function assertAsPinned(pinned: PinnedRequest, passages: readonly FoundPassage[], limit: number): void {
  const { filters } = pinned
  const isWithdrawn = withdrawnFrom(pinned.withdrawn)
  if (passages.length > limit) throw new Error('the search node returned more passages than asked for')
  let previous = 1
  for (const passage of passages) {
    const { metadata, score } = passage
    if (isWithdrawn(passage)) throw new Error('the search node returned a withdrawn passage')
    if (
      !filters.languages.includes(metadata.language) ||
      !filters.jurisdictions.includes(metadata.jurisdiction) ||
      (!filters.anySubject && !metadata.subjects.some((subject) => filters.subjects.includes(subject))) ||
      !filters.verificationStatuses.includes(metadata.verificationStatus)
    )
      throw new Error('the search node returned a passage outside the pinned filters')
    if (!(score >= 0 && score <= previous)) throw new Error('the search node returned scores out of order')
    previous = score
  }
}

function withdrawnFrom(withdrawn: readonly Withdrawn[]): (passage: FoundPassage) => boolean {
  const whole = withdrawn.filter(({ provisions, chunkId }) => provisions.length === 0 && chunkId === '')
  const documents = new Set(whole.map(({ document }) => document))
  const ids = new Set(withdrawn.flatMap(({ provisions, chunkId }) => [...provisions, chunkId]))
  return ({ document, provision, chunkId }) => documents.has(document.id) || ids.has(provision) || ids.has(chunkId)
}
