import type { PassageRecord } from '#core/index/passages/record.ts'
import type { SearchScope } from './candidates/source.ts'
import type { Question } from './question.ts'
import type { TokenStatistics } from './token-statistics.ts'

/** Rows that one request may see. */
export interface RowSet {
  readonly count: number
  has(row: number): boolean
}

/** Columns of all rows: what ranking knows of every row before it reads a passage. */
export interface RowColumns {
  /** Number of the row's document. */
  readonly documents: Uint32Array
  /** Number of the row's provision; its revisions share it. */
  readonly provisions: Uint32Array
  /** Place of the row's chunk id among all; ties are broken by it. */
  readonly chunkRanks: Uint32Array
  /** 1 where the row before is of the same revision. */
  readonly sameRevisionAsPrevious: Uint8Array
}

/**
 * What ranking needs of a version: its passages and its frozen statistics, whatever engine found the candidates. The
 * index gives it today; see `index-version.ts`.
 */
export interface VersionStatistics {
  readonly passages: number
  readonly columns: RowColumns
  readonly tokens: TokenStatistics
  /** The words of a question with their inverse document frequencies. @param languages BCP 47, that may be found. */
  question(text: string, languages: readonly string[]): Question
  rowsWithin(scope: SearchScope): RowSet
  /** @param day UTC day, YYYY-MM-DD. */
  inForceOn(day: string): (row: number) => boolean
  /** Cosines of rows; every machine gets the same bits. @param rows ascending. @param vector unit length. */
  cosines(rows: Uint32Array, vector: Float32Array): Float64Array
  passage(row: number): PassageRecord
}
