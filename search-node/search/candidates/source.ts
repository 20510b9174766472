import type { Filters, UnsupportedReference } from '#core/domain/search.ts'
import type { CallLimits } from '#search-node/call-limits.ts'
import type { Question } from '#search-node/search/question.ts'

/** What one request may find, as values: how a source applies them is its own affair. */
export interface SearchScope {
  readonly filters: Filters
  /** A bitset (bit row % 8 of byte row / 8) that narrows the filters further; undefined: every row. */
  readonly onlyRows: Uint8Array | undefined
  /** UTC day, YYYY-MM-DD, on which superseded revisions leave the scope where their successor is in it; '': none. */
  readonly collapseRevisionsOn: string
}

export interface WordQuery {
  readonly question: Question
  readonly scope: SearchScope
  /** Candidates wanted; there may be more. */
  readonly depth: number
}

export interface VectorQuery {
  /** Unit length. */
  readonly vector: Float32Array
  readonly scope: SearchScope
  /** Candidates wanted; there may be more. */
  readonly depth: number
  /** The minimum of rows that are scored. */
  readonly rowsScoredMin: number
}

export interface ReferenceQuery {
  readonly text: string
  readonly scope: SearchScope
  /** What the caller may see before the request's own filters. */
  readonly entitled: Filters
}

/** Candidate ids with the score that the source gives each. An id is the passage's row of the version. */
export interface ScoredCandidates {
  readonly ids: Uint32Array
  readonly scores: Float64Array
}

export interface VectorCandidates extends ScoredCandidates {
  /** How they were found: `cells` or `exact`. */
  readonly plan: string
}

/** How near a row is to a reference: the provision itself, a part of it, or the provision around it that marks the part. */
export const NEARNESS = { itself: 0, within: 1, around: 2 } as const
export type Nearness = (typeof NEARNESS)[keyof typeof NEARNESS]

export interface CitedCandidates {
  /** Ids of passages that explicit references name, each with the least of its distances. */
  readonly ids: ReadonlyMap<number, Nearness>
  /** What cannot be served, in the order of the question, each provision once. */
  readonly unsupported: readonly UnsupportedReference[]
}

/**
 * Where candidates come from. A source may fail: with a NodeError where the caller can do something about it
 * (DEADLINE_EXCEEDED, CANCELLED, UNAVAILABLE). The same query gives the same candidates on every replica. Implemented by
 * the index of a version (`index-source.ts`); an engine behind a network can stand in its place.
 */
export interface CandidateSource {
  /** Best first, by words alone. Scores are comparable within one question. */
  byWords(query: WordQuery, limits: CallLimits): Promise<ScoredCandidates>
  /** Ids ascending. Scores are cosines. */
  byVector(query: VectorQuery, limits: CallLimits): Promise<VectorCandidates>
  byReference(query: ReferenceQuery, limits: CallLimits): Promise<CitedCandidates>
}
