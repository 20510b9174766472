import { hasRow } from '#core/platform/bitset.ts'
import { createTopK } from '#core/platform/top-k.ts'
import { createCandidates } from './candidates.ts'
import type { CodedQuery } from './codes.ts'
import { NO_THRESHOLD } from './kernel.ts'

/** The scatter of some scores. */
export interface Scatter {
  readonly rows: number
  /** Sum of the squared distances from their mean, in cosines. */
  readonly squares: number
}

/** A scan for one query. */
export interface CodesScan {
  readonly query: CodedQuery
  /**
   * Scores the rows of a set from `from` up to `to`; each row at most once.
   * @param bits bit row % 32 of word row / 32.
   */
  add(bits: Uint32Array, from: number, to: number): void
  /** Does so too. @returns the scatter of all rows between, in the set or not. */
  addAndMeasure(bits: Uint32Array, from: number, to: number): Scatter
  /** About the cosine of the last wanted row less that of the mean of all rows; -Infinity while there are fewer. */
  threshold(): number
  /** Ascending: those that may be among the nearest ones of the first so many ranges, of all unless given. */
  rows(ranges?: number): Uint32Array
}

/** Scores rows of one piece. A piece has `rowsMax` rows and begins at a multiple of 32. */
export interface PieceScorer {
  readonly rowsMax: number
  /** Pairs of a row, counted from the beginning of the piece, and its score, by row; valid until the next piece. */
  readonly hits: Int32Array
  /** The sum of all scores of a piece without a threshold, and that of their squares; valid until the next piece. */
  readonly sums: Float64Array
  ask(query: CodedQuery): void
  /** @param among the rows to score; undefined: all. @returns the number of rows whose score is above the threshold. */
  score(from: number, to: number, threshold: number, among?: Uint32Array): number
}

/**
 * Nearest rows that a scan looks for. A row may be one of them if its score is less than this number of standard
 * deviations of its error below the last of so many. That one errs less if they are many: the errors of many rows
 * decide which it is. The last of few errs in its favour.
 */
export interface NearestRange {
  readonly count: number
  readonly deviations: number
}

/** What a scan is for. */
export interface Wanted {
  readonly ranges: readonly NearestRange[]
  /** The last one of so many nearest rows gives the threshold of the scan. */
  readonly threshold: number
}

export function createScan(scorer: PieceScorer, query: CodedQuery, wanted: Wanted): CodesScan {
  const { hits, sums, rowsMax } = scorer
  const found = createCandidates(
    wanted.ranges.map(({ count, deviations }) => ({ count, margin: Math.ceil(query.error * deviations) })),
  )
  const best = createTopK(wanted.threshold)
  scorer.ask(query)
  const threshold = (): number => Math.max(NO_THRESHOLD, found.threshold())
  /** Offers the first hits, but for those of rows without a bit. */
  function offer(first: number, count: number, among?: Uint32Array): void {
    let least = found.threshold()
    for (let at = 0; at < count * 2; at += 2) {
      const score = hits[at + 1] ?? 0
      if (score <= least) continue
      const row = first + (hits[at] ?? 0)
      if (among !== undefined && !hasRow(among, row)) continue
      found.offer(row, score)
      if (score > best.threshold()) best.offer(row, score)
      least = found.threshold()
    }
  }
  return {
    query,
    add(bits, from, to) {
      for (let first = from - (from % 32); first < to; first += rowsMax) {
        const end = Math.min(to, first + rowsMax)
        offer(first, scorer.score(Math.max(from, first), end, threshold(), bits))
      }
    },
    addAndMeasure(bits, from, to) {
      let sum = 0
      let squares = 0
      for (let first = from - (from % 32); first < to; first += rowsMax) {
        const count = scorer.score(Math.max(from, first), Math.min(to, first + rowsMax), NO_THRESHOLD)
        sum += sums[0] ?? 0
        squares += sums[1] ?? 0
        offer(first, count, bits)
      }
      const rows = to - from
      return { rows, squares: Math.max(0, squares - (sum * sum) / Math.max(1, rows)) / query.scorePerCosine ** 2 }
    },
    threshold: () => (best.threshold() - query.offset) / query.scorePerCosine,
    rows: (ranges) => found.rows(ranges),
  }
}
