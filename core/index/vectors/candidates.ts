import { createTopK } from '#core/platform/top-k.ts'

/** Rows at nearly equal distances, as a filter may leave them, are all candidates up to this number. */
const CANDIDATES_MAX = 524_288
/** There is room for so many at first. */
const ROWS_FIRST = 1_024

/** Rows of a scan that may be among the nearest. */
export interface Candidates {
  /** Rows at or below it are no candidates. */
  threshold(): number
  offer(row: number, score: number): void
  /**
   * Ascending, at most CANDIDATES_MAX of them or the largest `count`.
   * @param ranges those that the first so many ranges include.
   */
  rows(ranges?: number): Uint32Array
}

/** The `count` best rows, and the rows whose score is at most `margin` below theirs. */
export interface ScoreRange {
  readonly count: number
  readonly margin: number
}

/** Keeps the rows that any of the ranges includes. */
export function createCandidates(ranges: readonly ScoreRange[]): Candidates {
  const best = ranges.map(({ count, margin }) => ({ top: createTopK(count), margin }))
  const max = ranges.reduce((most, { count }) => Math.max(most, count), CANDIDATES_MAX)
  let rows = new Uint32Array(ROWS_FIRST)
  let scores = new Int32Array(ROWS_FIRST)
  let size = 0
  /** Rows at or below it were dropped because there are too many. */
  let floor = -Infinity

  function least(first = best.length): number {
    let lowest = Infinity
    for (let at = 0; at < first; at++) {
      const range = best[at]
      if (range !== undefined) lowest = Math.min(lowest, range.top.threshold() - range.margin)
    }
    return lowest - 1
  }
  /** Keeps the rows above a score, in order, and as many with this score as `room`. */
  function keep(score: number, room: number): void {
    let [kept, equal] = [0, 0]
    for (let at = 0; at < size; at++) {
      const own = scores[at] ?? 0
      if (own < score || (own === score && equal++ >= room)) continue
      rows[kept] = rows[at] ?? 0
      scores[kept] = own
      kept += 1
    }
    size = kept
  }
  function makeRoom(): void {
    keep(least(), 0)
    if (size > max) {
      const sorted = scores.slice(0, size).sort()
      floor = sorted[size - max] ?? floor
      keep(floor, max - (size - 1 - sorted.lastIndexOf(floor)))
    }
    if (size * 2 <= rows.length) return
    const [moreRows, moreScores] = [new Uint32Array(rows.length * 2), new Int32Array(rows.length * 2)]
    moreRows.set(rows)
    moreScores.set(scores)
    rows = moreRows
    scores = moreScores
  }
  return {
    threshold: () => Math.max(floor, least()),
    offer(row, score) {
      if (size === rows.length) makeRoom()
      rows[size] = row
      scores[size] = score
      size += 1
      for (const { top } of best) if (score > top.threshold()) top.offer(row, score)
    },
    rows(first) {
      const lowest = least(first)
      return rows
        .subarray(0, size)
        .filter((_, at) => (scores[at] ?? 0) > lowest)
        .sort()
    },
  }
}
