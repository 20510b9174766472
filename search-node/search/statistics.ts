import type { PassageRecord } from '#core/index/passages/record.ts'
import type { GramQuestion } from '#core/index/grams/coverage.ts'
import type { Chance } from '#core/index/grams/layout.ts'
import type { PassageGrams } from './passage-grams.ts'
import type { SearchScope } from './candidates/source.ts'
import type { Question } from './question.ts'
import type { TokenStatistics } from './token-statistics.ts'
import type { VectorScores } from './vector-scores.ts'

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
  rowsInScope(scope: SearchScope): RowSet
  /** @param day UTC day, YYYY-MM-DD. */
  inForceOn(day: string): (row: number) => boolean
  /** Cosines of rows, bit-identical on every machine. @param rows ascending. @param vector unit length. */
  cosines(rows: Uint32Array, vector: Float32Array): Float64Array
  /** Undefined: a version without vectors. */
  readonly vectorScores: VectorScores | undefined
  /**
   * How much of a question the best search question of each row holds, in [0, 1]; undefined: the version has none.
   * @param rows ascending.
   */
  searchQuestionShares(text: string, rows: Uint32Array): Float64Array | undefined
  /** Compares a question with the grams of passages. @param words of the question, as `indexWords` gives them. */
  grams(words: readonly string[]): GramQuestion
  readonly rowGrams: PassageGrams
  /** Whether the language of a row writes compounds as one word. Undefined: no language of the version does. */
  readonly hasCompounds: ((row: number) => boolean) | undefined
  /** What the first passages hold of questions by chance. */
  readonly chance: Chance
  passage(row: number): PassageRecord
}
