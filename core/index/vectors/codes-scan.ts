import { hasRow } from '#core/platform/bitset.ts'
import { createTopK } from '#core/platform/top-k.ts'
import { createCandidates } from './candidates.ts'
import type { CodedQuery } from './codes.ts'
import type { Kernel } from './kernel.ts'

/** The scatter of some scores. */
export interface Scatter {
  readonly rows: number
  /** Sum of the squared distances from their mean, in cosines. */
  readonly squares: number
}

/** A scan for one query. */
export interface CodesScan {
  /**
   * Scores the rows of a set from `from` up to `to`; each row at most once.
   * @param bits bit row % 32 of word row / 32.
   */
  add(bits: Uint32Array, from: number, to: number): void
  /** Does so too. @returns the scatter of all rows between, in the set or not. */
  addAndMeasure(bits: Uint32Array, from: number, to: number): Scatter
  /** About the cosine of the last wanted row less that of the mean of all rows; -Infinity while there are fewer. */
  threshold(): number
  /** Ascending: those that may be among the kept ones; see `createCandidates`. */
  rows(): Uint32Array
}

/** Rows of the codes that a kernel scores at once. */
export interface Piece {
  /** The row that the piece begins at, a multiple of 32, and the range in it. */
  readonly first: number
  readonly from: number
  readonly to: number
}

/**
 * Gives a kernel the codes of the rows of a set in a range, and their bits.
 * @param bits undefined: all rows. @returns the words of bits.
 */
export type PieceLoader = (piece: Piece, bits?: Uint32Array) => number

function* pieces({ rowsMax }: Kernel, from: number, to: number): Generator<Piece> {
  for (let first = from - (from % 32); first < to; first += rowsMax)
    yield { first, from: Math.max(from, first), to: Math.min(to, first + rowsMax) }
}

/**
 * A row may be among the nearest if its score is less than this number of standard deviations of the error of a
 * difference below the last one that is kept.
 */
const ERROR_DEVIATIONS = 3 * Math.SQRT2
/** A threshold below every score: a score is at least -127 × 15 for each of at most 4,128 components. */
const NONE = -(2 ** 30)

export function createScan(
  kernel: Kernel,
  load: PieceLoader,
  query: CodedQuery,
  kept: number,
  wanted: number,
): CodesScan {
  const found = createCandidates(kept, Math.ceil(query.error * ERROR_DEVIATIONS))
  const best = createTopK(wanted)
  kernel.ask(query.bytes)
  function offer(row: number, score: number): void {
    if (score <= found.threshold()) return
    found.offer(row, score)
    if (score > best.threshold()) best.offer(row, score)
  }
  return {
    add(bits, from, to) {
      for (const piece of pieces(kernel, from, to)) {
        const hits = kernel.scan(load(piece, bits), Math.max(NONE, found.threshold()))
        for (let at = 0; at < hits * 2; at += 2) offer(piece.first + (kernel.hits[at] ?? 0), kernel.hits[at + 1] ?? 0)
      }
    },
    addAndMeasure(bits, from, to) {
      let sum = 0
      let squares = 0
      for (const piece of pieces(kernel, from, to)) {
        const hits = kernel.scan(load(piece), NONE)
        for (let at = 0; at < hits * 2; at += 2) {
          const row = piece.first + (kernel.hits[at] ?? 0)
          const score = kernel.hits[at + 1] ?? 0
          sum += score
          squares += score * score
          if (hasRow(bits, row)) offer(row, score)
        }
      }
      const rows = to - from
      return { rows, squares: Math.max(0, squares - (sum * sum) / Math.max(1, rows)) / query.scorePerCosine ** 2 }
    },
    threshold: () => (best.threshold() - query.offset) / query.scorePerCosine,
    rows: () => found.rows(),
  }
}
