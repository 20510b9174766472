import { hasRow } from '#core/index/bitset.ts'
import { createTopK } from '#core/index/top-k.ts'
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

/** Rows at nearly equal distances, as a filter may leave them, are all candidates up to this number. */
const CANDIDATES_MAX = 524_288
/** There is room for so many at first. */
const ROWS_FIRST = 1_024

/** The rows of a scan that may be among the `count` nearest: those whose score is at most `margin` below the last. */
class Candidates {
  readonly #best
  readonly #margin: number
  readonly #max: number
  #rows = new Uint32Array(ROWS_FIRST)
  #scores = new Int32Array(ROWS_FIRST)
  #size = 0
  /** Rows at or below it were dropped because there are too many. */
  #floor = -Infinity

  constructor(count: number, margin: number) {
    this.#best = createTopK(count)
    this.#margin = margin
    this.#max = Math.max(count, CANDIDATES_MAX)
  }

  /** Rows at or below it are no candidates. */
  threshold(): number {
    return Math.max(this.#floor, this.#least())
  }

  #least(): number {
    return this.#best.threshold() - this.#margin - 1
  }

  offer(row: number, score: number): void {
    if (this.#size === this.#rows.length) this.#makeRoom()
    this.#rows[this.#size] = row
    this.#scores[this.#size] = score
    this.#size += 1
    if (score > this.#best.threshold()) this.#best.offer(row, score)
  }

  /** Ascending, at most CANDIDATES_MAX of them or the largest `count`. */
  rows(): Uint32Array {
    const least = this.#least()
    return this.#rows
      .subarray(0, this.#size)
      .filter((_, at) => (this.#scores[at] ?? 0) > least)
      .sort()
  }

  #makeRoom(): void {
    this.#keep(this.#least(), 0)
    if (this.#size > this.#max) {
      const sorted = this.#scores.slice(0, this.#size).sort()
      this.#floor = sorted[this.#size - this.#max] ?? this.#floor
      this.#keep(this.#floor, this.#max - (this.#size - 1 - sorted.lastIndexOf(this.#floor)))
    }
    if (this.#size * 2 <= this.#rows.length) return
    const [rows, scores] = [new Uint32Array(this.#rows.length * 2), new Int32Array(this.#rows.length * 2)]
    rows.set(this.#rows)
    scores.set(this.#scores)
    this.#rows = rows
    this.#scores = scores
  }

  /** Keeps the rows above a score, in order, and as many with this score as `room`. */
  #keep(score: number, room: number): void {
    let [kept, equal] = [0, 0]
    for (let at = 0; at < this.#size; at++) {
      const own = this.#scores[at] ?? 0
      if (own < score || (own === score && equal++ >= room)) continue
      this.#rows[kept] = this.#rows[at] ?? 0
      this.#scores[kept] = own
      kept += 1
    }
    this.#size = kept
  }
}
