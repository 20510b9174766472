import { createTopK } from '#core/index/top-k.ts'

/** Rows at nearly equal distances, as a filter may leave them, are all candidates up to this number. */
const CANDIDATES_MAX = 524_288
/** There is room for so many at first. */
const ROWS_FIRST = 1_024

/** The rows of a scan that may be among the `count` nearest: those whose score is at most `margin` below the last. */
export class Candidates {
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
