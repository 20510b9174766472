import { createTopK } from '#core/platform/top-k.ts'

/** Rows at nearly equal distances, as a filter may leave them, are all candidates up to this number. */
const CANDIDATES_MAX = 524_288

/** Rows of a scan that may be among the nearest. */
export interface Candidates {
  /** Rows at or below it are no candidates. */
  threshold(): number
  offer(row: number, score: number): void
  /** Ascending, at most CANDIDATES_MAX of them or `count`. */
  rows(): Uint32Array
}

/** Keeps the rows whose score is within `margin` of the `count`-th best. */
export function createCandidates(count: number, margin: number): Candidates {
  const best = createTopK(count)
  const max = Math.max(count, CANDIDATES_MAX)
  let rows = new Uint32Array(4_096)
  let scores = new Int32Array(4_096)
  let size = 0
  /** Rows at or below it were dropped because there are too many. */
  let floor = -Infinity

  const least = (): number => best.threshold() - margin - 1
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
      if (score > best.threshold()) best.offer(row, score)
    },
    rows() {
      keep(least(), 0)
      return rows.slice(0, size).sort()
    },
  }
}
