import { hasRow } from '#core/index/bitset.ts'
import { createTopK } from '#core/index/top-k.ts'
import { Candidates } from './candidates.ts'
import { NO_THRESHOLD } from './kernel.ts'
import type { QuantizedQuery } from './quantizer.ts'

/** Scores rows of one piece of SQ4 vectors. A piece has `rowsMax` rows and begins at a multiple of 32. */
export interface PieceScorer {
  readonly rowsMax: number
  /** Pairs of a row, counted from the beginning of the piece, and its score, by row; valid until the next piece. */
  readonly hits: Int32Array
  setQuery(query: QuantizedQuery): void
  /** @param among the rows to score; undefined: all. @returns the number of rows whose score is above the threshold. */
  score(from: number, to: number, threshold: number, among?: Uint32Array): number
}

/** Numbers of rows that a scan returns. */
export interface ScanDepth {
  /** Every row that may be among so many nearest ones is a candidate. */
  readonly candidates: number
  /** The last one of so many nearest rows gives the threshold of the scan. */
  readonly threshold: number
}

/**
 * A row is a candidate if its score is less than this number of standard deviations of its error below the last. Where
 * a filter leaves thousands of rows at nearly equal distances, the last one owes its place to its error; see the
 * measurements of decision 0027.
 */
const ERROR_DEVIATIONS = 3.5

/** A scan of SQ4 vectors for one query. */
export class Sq4Scan {
  readonly query: QuantizedQuery
  readonly #scorer: PieceScorer
  readonly #found: Candidates
  readonly #best

  constructor(scorer: PieceScorer, query: QuantizedQuery, wanted: ScanDepth) {
    this.query = query
    this.#scorer = scorer
    this.#found = new Candidates(wanted.candidates, Math.ceil(query.error * ERROR_DEVIATIONS))
    this.#best = createTopK(wanted.threshold)
    scorer.setQuery(query)
  }

  /**
   * Scores the rows of a set from `from` up to `to`; each row at most once.
   * @param bits bit row % 32 of word row / 32.
   */
  add(bits: Uint32Array, from: number, to: number): void {
    const { rowsMax } = this.#scorer
    for (let first = from - (from % 32); first < to; first += rowsMax) {
      const threshold = Math.max(NO_THRESHOLD, this.#found.threshold())
      const hits = this.#scorer.score(Math.max(from, first), Math.min(to, first + rowsMax), threshold, bits)
      this.#offer(first, hits, bits)
    }
  }

  /**
   * Scans and also measures the spread of the cosines of all rows in the range, in the set or not.
   * @returns the sum of the squared distances of their cosines from the mean of these.
   */
  addAndMeasure(bits: Uint32Array, from: number, to: number): number {
    const { rowsMax, hits } = this.#scorer
    let [sum, squares] = [0, 0]
    for (let first = from - (from % 32); first < to; first += rowsMax) {
      const count = this.#scorer.score(Math.max(from, first), Math.min(to, first + rowsMax), NO_THRESHOLD)
      for (let at = 1; at < count * 2; at += 2) {
        const score = hits[at] ?? 0
        sum += score
        squares += score * score
      }
      this.#offer(first, count, bits)
    }
    return Math.max(0, squares - (sum * sum) / Math.max(1, to - from)) / this.query.scorePerCosine ** 2
  }

  /** About the cosine of the last wanted row less that of the mean of all rows; -Infinity while there are fewer. */
  threshold(): number {
    return (this.#best.threshold() - this.query.offset) / this.query.scorePerCosine
  }

  /** The candidates, ascending. */
  rows(): Uint32Array {
    return this.#found.rows()
  }

  /** Offers the first hits that are in the set. */
  #offer(first: number, count: number, among: Uint32Array): void {
    const { hits } = this.#scorer
    let least = this.#found.threshold()
    for (let at = 0; at < count * 2; at += 2) {
      const score = hits[at + 1] ?? 0
      if (score <= least) continue
      const row = first + (hits[at] ?? 0)
      if (!hasRow(among, row)) continue
      this.#found.offer(row, score)
      if (score > this.#best.threshold()) this.#best.offer(row, score)
      least = this.#found.threshold()
    }
  }
}
