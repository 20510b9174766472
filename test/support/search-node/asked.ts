import type { Filters, Ranking, SearchRequest } from '#core/rpc/search-client.ts'
import type { SearchInput } from '#search-node/search/pipeline.ts'

/** Everything that test corpora hold, whenever it is in force. */
export const EVERYTHING: Filters = {
  languages: ['de', 'en'],
  jurisdictions: ['XA', 'XB'],
  subjects: [],
  any_subject: true,
  verification_statuses: ['verified'],
  in_force_on: '',
  documents: [],
}

/** Words and vectors count alike; every revision and every passage of a document is shown. */
export const RANKING: Ranking = {
  expansion: 64,
  fusion: 'weighted',
  dense_weight: 0.5,
  rrf_k: 60,
  per_document_max: 0,
  collapse_revisions_on: '',
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

/** A search as a gateway sends it; entitled likewise. */
export function requestOf({
  projection_id,
  ...change
}: Partial<SearchRequest> & Pick<SearchRequest, 'projection_id'>): SearchRequest {
  const filters = change.filters ?? EVERYTHING
  return {
    projection_id,
    query_vector: Buffer.alloc(0),
    query_text: '',
    limit: 5,
    filters,
    entitled: filters,
    ranking: RANKING,
    ...change,
  }
}

export function bytesOf(vector: Float32Array): Buffer {
  return Buffer.from(vector.slice().buffer)
}
