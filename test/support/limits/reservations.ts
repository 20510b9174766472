import type { Replay } from '#core/db/reservations.ts'
import type { Filters } from '#core/domain/search.ts'

/** For requests of tests that search nothing. */
export const NO_FILTERS: Filters = {
  languages: [],
  jurisdictions: [],
  subjects: [],
  anySubject: true,
  verificationStatuses: [],
  inForceOn: '',
  documents: [],
}
export const NO_REPLAY: Replay = { query_vector_digest: '', passage_sha256: [], rerank_order: null }
