import type { AnalyzedQuestion } from '#core/index/analysis/analyzer.ts'
import type { NgramBeginnings } from '#core/index/analysis/ngrams.ts'
import type { NgramQuestion } from '#core/index/ngrams/coverage.ts'
import type { BackgroundModel } from '#core/index/ngrams/layout.ts'
import type { HashTable } from '#core/index/hash-table.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import type { Filters, SearchQuery, UnsupportedReference, Withdrawn } from '#core/domain/search.ts'
import type { CallDeadline } from '#search-node/node-error.ts'

/** What the stages of a search, the sources of candidates and a version exchange. */

/** A query as a scoring thread receives it, with its vector in a buffer of its own. */
export type SearchInput = Omit<SearchQuery, 'versionId'>

/** A query in the form that the stages share. */
export interface Query {
  readonly input: SearchInput
  readonly scope: SearchScope
  /** The question, or what a rewriter wrote in its place, best first. Empty: no lexical ranking. */
  readonly texts: readonly RankingText[]
  /** Unit length. Undefined: no dense ranking. */
  readonly vector: Float32Array | undefined
}

/** A text whose words rank. */
export interface RankingText {
  readonly text: string
  readonly question: Question
}

/** A word of a question with the hashes of its terms in the forward index, one per language. */
export interface QuestionWord {
  /** Folded. */
  readonly word: string
  readonly idf: number
  /** Rows of the version that hold it. */
  readonly frequency: number
  readonly hashes: readonly number[]
}

/** Two adjacent words of a question; function words are skipped. */
export interface QuestionPair {
  readonly first: number
  readonly second: number
  /** Idf of the pair minus the mean idf of its words; > 0. */
  readonly weight: number
}

/** A question in the form that rescoring needs. */
export interface Question {
  readonly words: readonly QuestionWord[]
  readonly asked: AnalyzedQuestion
  readonly pairs: readonly QuestionPair[]
  /** Upper bound of the pair weights in one passage, which is in one language. */
  readonly pairsWeight: number
  /** Index of each word hash in `words`. */
  readonly wordTable: HashTable
}

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

export interface VectorQuery {
  /** Unit length. */
  readonly vector: Float32Array
  readonly scope: SearchScope
  /** Candidates wanted; there may be more. */
  readonly depth: number
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
  /** How they were found: `exact`, `scan` or `ivf`; `none` without vectors. */
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
 * UNAVAILABLE). The same query gives the same candidates on every replica. `index-version.ts` implements it with the
 * index of a version; a remote engine can implement it too.
 */
export interface CandidateSource {
  /** Best first, by words alone. Scores are comparable within one question. */
  byWords(query: WordQuery, deadline: CallDeadline): Promise<ScoredCandidates>
  /** Ids ascending. Scores are cosines. */
  byVector(query: VectorQuery, deadline: CallDeadline): Promise<VectorCandidates>
  /** Passages with the best query expansions, best first, with their shares; undefined: the version has none. */
  byQueryExpansions(query: TextQuery, deadline: CallDeadline): Promise<ScoredCandidates | undefined>
  byReference(query: ReferenceQuery, deadline: CallDeadline): Promise<NamedRows>
}

/** Tokens of rows `from` to `to`. Loops use positions, because a view of a row costs more than its scan. */
export interface TokenRange {
  /** Word hashes; between two rows lie values that are no hashes. */
  readonly tokens: Uint32Array
  /** Position of a row's first word in `tokens`, heading first. */
  readonly start: (row: number) => number
  /** Position of the first word of its text. */
  readonly textStart: (row: number) => number
  /** Position after its last word. */
  readonly end: (row: number) => number
  /** Word hashes of a row, heading first. */
  readonly words: (row: number) => Uint32Array
}

/** The words of passages in text order, and the frequency of adjacent pairs. */
export interface TokenStatistics {
  readonly description: {
    readonly rows: number
    /** Mean words of a row, heading included; of the texts next to it, both sides together; of those one further. */
    readonly mean_length: number
    readonly mean_beside: number
    readonly mean_near: number
  }
  /** Upper bound of the number of rows in which two words are adjacent. */
  readonly pairFrequency: (first: number, second: number) => number
  /** @param from first row. @param to last row. @returns their words, valid until the next call. */
  readonly read: (from: number, to: number) => TokenRange
}

/**
 * Weighted z-scores of a question's cosines in a version, in the range of the words' scores.
 * @param vector the question's, of unit length.
 */
export type VectorScores = (cosines: Float64Array, vector: Float32Array) => Float64Array

/** Rows that one request may see. */
export interface RowSet {
  readonly count: number
  has(row: number): boolean
  /** The rows that are kept: bit row % 8 of byte row / 8. */
  narrowed(keep: (row: number) => boolean): { readonly count: number; readonly rows: Uint8Array }
}

/** Columns of all rows, which ranking uses without reading a passage. */
export interface RowColumns {
  /** Number of the row's document. */
  readonly documents: Uint32Array
  /** Number of the row's provision; its revisions share it. */
  readonly provisions: Uint32Array
  /** Rank of the row's chunk id among all chunk ids; breaks ties. */
  readonly chunkRanks: Uint32Array
  /** 1 if the previous row belongs to the same revision. */
  readonly sameRevisionAsPrevious: Uint8Array
}

/**
 * The passages and static statistics of a version that ranking needs, whichever source found the candidates.
 * `index-version.ts` implements it with the index.
 */
export interface VersionStatistics {
  readonly passages: number
  readonly columns: RowColumns
  readonly tokens: TokenStatistics
  /**
   * The words of a question with their inverse document frequencies. @param languages BCP 47 codes that may be found.
   */
  question(text: string, languages: readonly string[]): Question
  /** Cuts out whatever may name a provision or an act. */
  withoutReferences(text: string): string
  rowsInScope(scope: SearchScope): RowSet
  /** @param day UTC day, YYYY-MM-DD. */
  inForceOn(day: string): (row: number) => boolean
  /** Cosines of rows, bit-identical on every machine. @param rows ascending. @param vector unit length. */
  cosines(rows: Uint32Array, vector: Float32Array): Float64Array
  /** Undefined: a version without vectors. */
  readonly vectorScores: VectorScores | undefined
  /**
   * How much of a question the best query expansion of each row holds, in [0, 1]; undefined: the version has none.
   * @param rows ascending.
   */
  queryExpansionShares(text: string, rows: Uint32Array): Float64Array | undefined
  ngrams(text: string): NgramQuestion
  /** N-grams of the passage in a row, with repetitions, valid until the next call; see `ngramHashes`. */
  readonly rowNgrams: (row: number, among: NgramBeginnings) => Int32Array
  /** Whether the language of a row writes compounds as one word. Undefined: no language of the version does. */
  readonly hasCompounds: ((row: number) => boolean) | undefined
  /** What the first passages hold of questions that no passage answers. */
  readonly background: BackgroundModel
  passage(row: number): PassageRecord
}

/** A version as one search sees it: its source of candidates and the statistics that rank them. */
export interface SearchableVersion {
  readonly candidates: CandidateSource
  readonly statistics: VersionStatistics
}
