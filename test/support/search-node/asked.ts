import type { CallDeadline } from '#search-node/call-deadline.ts'
import type { Filters, Ranking, SearchQuery } from '#core/domain/search.ts'
import type { SearchInput } from '#search-node/search/query.ts'

/** No deadline and no abort. */
export const UNLIMITED: CallDeadline = { deadlineMs: Infinity, signal: new AbortController().signal }

/** Everything that test corpora hold, whenever it is in force. */
export const EVERYTHING: Filters = {
  languages: ['de', 'en'],
  jurisdictions: ['XA', 'XB'],
  subjects: [],
  anySubject: true,
  verificationStatuses: ['verified'],
  inForceOn: '',
  documents: [],
}

/** Words and vectors have equal weight; every revision and every passage of a document is shown. */
export const RANKING: Ranking = {
  rowsScoredMin: 64,
  denseWeight: 0.5,
  perDocumentMax: 0,
  collapseRevisionsOn: '',
}

/** A search as a scoring thread gets it; entitled to what the filters allow unless the change says otherwise. */
export function inputOf(change: Partial<SearchInput>): SearchInput {
  const filters = change.filters ?? EVERYTHING
  return {
    vector: undefined,
    text: '',
    limit: 5,
    filters,
    entitled: filters,
    ranking: RANKING,
    withoutText: false,
    onlyRows: undefined,
    ...change,
  }
}

/** A query as a gateway asks it; entitled likewise. */
export function requestOf({
  versionId,
  ...change
}: Partial<SearchQuery> & Pick<SearchQuery, 'versionId'>): SearchQuery {
  const filters = change.filters ?? EVERYTHING
  return {
    versionId,
    vector: undefined,
    text: '',
    limit: 5,
    filters,
    entitled: filters,
    ranking: RANKING,
    ...change,
  }
}
