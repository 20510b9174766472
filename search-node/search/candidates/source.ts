import type { Filters, UnsupportedReference, Withdrawn } from '#core/domain/search.ts'
import type { CallDeadline } from '#search-node/call-deadline.ts'
import type { Question } from '#search-node/search/question.ts'

/** The scope of one request as plain values; each source decides how it applies them. */
export interface SearchScope {
  readonly filters: Filters
  /**
   * A bitset (bit row % 8 of byte row / 8) that narrows the filters further; undefined: every row. Only evaluations set
   * it: they search under filters that no facet states.
   */
  readonly onlyRows: Uint8Array | undefined
  /** Leaves the scope after revisions collapsed, so that no withdrawn text is replaced by an older one. */
  readonly withdrawn: readonly Withdrawn[]
  /**
   * UTC day, YYYY-MM-DD. Revisions superseded on it leave the scope if their successor is in the scope; '': none leave.
   */
  readonly collapseRevisionsOn: string
}

export interface WordQuery {
  readonly question: Question
  readonly scope: SearchScope
  /** Candidates wanted; there may be more. */
  readonly depth: number
}

/**
 * Minimum of candidates by vector: rescoring more than 20 moves no measured figure by more than 0.003 (decision 0026).
 * Predictors look at more of the nearest rows, which need no other score.
 */
export const VECTOR_CANDIDATES_MIN = 20

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

/** A question in the words of its caller. */
export interface TextQuery extends Omit<WordQuery, 'question'> {
  readonly text: string
}

export interface VectorCandidates extends ScoredCandidates {
  /** How they were found: `exact`, `scan` or `clusters`; `none` without vectors. */
  readonly plan: string
}

/** Nearness of a row to a reference: the provision itself, a part of it, or the enclosing provision that marks it. */
export const NEARNESS = { exact: 0, part: 1, enclosing: 2 } as const
export type Nearness = (typeof NEARNESS)[keyof typeof NEARNESS]

/** How a passage is named: by which reference of the question, counted from 0, and how nearly. */
export interface NamedBy {
  readonly reference: number
  readonly nearness: Nearness
  /** The reference names no act, so passages of several acts may be meant. */
  readonly withoutAct: boolean
}

export interface NamedRows {
  /** Ids of passages that explicit references name, each with its best nearness. */
  readonly ids: ReadonlyMap<number, NamedBy>
  /** The question without its references: what it asks about them. */
  readonly remainder: string
  /** References that cannot be served, in the order of the question, each provision once. */
  readonly unsupported: readonly UnsupportedReference[]
}

/**
 * A source of candidates. It fails with a NodeError if the caller can react (DEADLINE_EXCEEDED, CANCELLED,
 * UNAVAILABLE). The same query gives the same candidates on every replica. `index-source.ts` implements it with the
 * index of a version; a remote engine can implement it too.
 */
export interface CandidateSource {
  /** Best first, by words alone. Scores are comparable within one question. */
  byWords(query: WordQuery, deadline: CallDeadline): Promise<ScoredCandidates>
  /** Ids ascending. Scores are cosines. */
  byVector(query: VectorQuery, deadline: CallDeadline): Promise<VectorCandidates>
  /** Passages with the best search questions, best first, with their shares; undefined: the version has none. */
  bySearchQuestions(query: TextQuery, deadline: CallDeadline): Promise<ScoredCandidates | undefined>
  byReference(query: ReferenceQuery, deadline: CallDeadline): Promise<NamedRows>
}
