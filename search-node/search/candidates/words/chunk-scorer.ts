import { CHUNK_ROWS, chunkBytes } from '#core/index/lexical/layout.ts'
import { hasRow } from '#core/index/bitset.ts'
import type { TopK } from '#core/index/top-k.ts'
import type { LexicalGroup } from './query.ts'

/**
 * Scores one chunk of rows at a time: accumulates the postings of the essential terms, collects candidates, and looks
 * up the other terms for these alone. It owns its buffers, so a thread has one and scores one question at a time. Loops
 * keep the buffers in local variables, and scores are signed and below 2³¹, because the JIT compiler then generates the
 * fastest code.
 */
export class ChunkScorer {
  /** The postings of the last read: rows first, then impacts. */
  readonly #bytes = new Uint8Array(chunkBytes(CHUNK_ROWS))
  readonly #rows = new Uint16Array(this.#bytes.buffer)

  /** Accumulators of all rows: 256 KiB, which stays in a core's private cache. All are 0 between chunks. */
  readonly #accumulators = new Int32Array(CHUNK_ROWS)
  /** Rows with a score, in the order in which they got it; the element after the last is overwritten. */
  readonly #scoredRows = new Uint16Array(CHUNK_ROWS + 1)
  #scored = 0

  /** Rows that may be among the best, ascending, with their partial scores. */
  readonly #candidateRows = new Uint16Array(CHUNK_ROWS)
  readonly #candidateScores = new Int32Array(CHUNK_ROWS)
  #candidates = 0

  /** Accumulates a term's impacts in the chunk that its lists were last positioned on (`seek`). */
  accumulate({ lists, weight }: LexicalGroup): void {
    for (const list of lists) {
      if (list.count === 0) continue
      list.read(this.#bytes)
      this.#accumulateList(list.count, weight | 0)
    }
  }

  /** Every row is written to the scored rows, and kept if it has no score yet: a condition would be mispredicted. */
  #accumulateList(count: number, weight: number): void {
    const [rows, bytes, accumulators, scoredRows] = [this.#rows, this.#bytes, this.#accumulators, this.#scoredRows]
    const impactsAt = count * 2
    let end = this.#scored
    for (let at = 0; at < count; at++) {
      const row = rows[at] ?? 0
      const score = accumulators[row] ?? 0
      scoredRows[end] = row
      end += (score - 1) >>> 31
      accumulators[row] = (score + Math.imul(weight, bytes[impactsAt + at] ?? 0)) | 0
    }
    this.#scored = end
  }

  /** Offers the allowed rows with their accumulated scores. @param first row 0 of the chunk. */
  offerAccumulated(allowed: Uint32Array, first: number, best: TopK): void {
    let below = Math.max(0, best.threshold() - 1)
    for (let at = 0; at < this.#scored; at++) {
      const row = this.#scoredRows[at] ?? 0
      const score = this.#accumulators[row] ?? 0
      if (score <= below || !hasRow(allowed, row)) continue
      best.offer(first + row, score)
      below = Math.max(0, best.threshold() - 1)
    }
  }

  /** Makes the allowed rows that score at least `scoreMin` the candidates; `scoreMin` is at least 1. */
  collectAccumulated(allowed: Uint32Array, scoreMin: number): void {
    const below = (scoreMin - 1) | 0
    const accumulators = this.#accumulators
    this.#candidates = 0
    for (let word = 0; word < allowed.length; word++) {
      const bits = allowed[word] ?? 0
      if (bits === 0) continue
      for (let row = word * 32; row < word * 32 + 32; row += 8)
        if (anyOfEightAbove(accumulators, row, below)) this.#collectEight(row, bits, below)
    }
  }

  #collectEight(first: number, bits: number, below: number): void {
    for (let row = first; row < first + 8; row++) {
      const score = this.#accumulators[row] ?? 0
      if (score > below && ((bits >>> (row & 31)) & 1) === 1) this.#collect(row, score)
    }
  }

  #collect(row: number, score: number): void {
    this.#candidateRows[this.#candidates] = row
    this.#candidateScores[this.#candidates++] = score
  }

  /** @param end row after the last of the chunk. */
  clear(end: number): void {
    this.#accumulators.fill(0, 0, end)
    this.#scored = 0
  }

  /** Makes all allowed rows the candidates, with score 0. */
  collectAllowed(allowed: Uint32Array): void {
    this.#candidates = 0
    for (let word = 0; word < allowed.length; word++)
      for (let left = allowed[word] ?? 0; left !== 0; left &= left - 1)
        this.#collect(word * 32 + 31 - Math.clz32(left & -left), 0)
  }

  /** Adds a term's impacts to the candidates' scores. Each lookup starts where the previous one ended. */
  addToCandidates({ lists, weight }: LexicalGroup): void {
    for (const list of lists) {
      if (list.count === 0) continue
      list.read(this.#bytes)
      this.#addListToCandidates(list.count, weight | 0)
    }
  }

  #addListToCandidates(count: number, weight: number): void {
    const [rows, bytes, scores] = [this.#rows, this.#bytes, this.#candidateScores]
    for (let at = 0, posting = 0; at < this.#candidates; at++) {
      const row = this.#candidateRows[at] ?? 0
      posting = firstNotBelow(rows, row, posting, count)
      if (posting === count) return
      if (rows[posting] === row)
        scores[at] = ((scores[at] ?? 0) + Math.imul(weight, bytes[count * 2 + posting] ?? 0)) | 0
    }
  }

  /** Drops the candidates that score below `scoreMin`. @returns how many are left. */
  pruneCandidates(scoreMin: number): number {
    let kept = 0
    for (let at = 0; at < this.#candidates; at++) {
      const score = this.#candidateScores[at] ?? 0
      if (score < scoreMin) continue
      this.#candidateRows[kept] = this.#candidateRows[at] ?? 0
      this.#candidateScores[kept++] = score
    }
    this.#candidates = kept
    return kept
  }

  /** Offers the candidates with a score. @param first row 0 of the chunk. */
  offerCandidates(first: number, best: TopK): void {
    for (let at = 0; at < this.#candidates; at++) {
      const score = this.#candidateScores[at] ?? 0
      if (score > 0) best.offer(first + (this.#candidateRows[at] ?? 0), score)
    }
  }
}

/** Whether any of eight adjacent rows scores above `below`. One test of the combined signs replaces a test of each. */
function anyOfEightAbove(scores: Int32Array, row: number, below: number): boolean {
  return (
    ((below - (scores[row] ?? 0)) |
      (below - (scores[row + 1] ?? 0)) |
      (below - (scores[row + 2] ?? 0)) |
      (below - (scores[row + 3] ?? 0)) |
      (below - (scores[row + 4] ?? 0)) |
      (below - (scores[row + 5] ?? 0)) |
      (below - (scores[row + 6] ?? 0)) |
      (below - (scores[row + 7] ?? 0))) <
    0
  )
}

/**
 * Galloping search. @returns the first posting from `from` on whose row is not below `row`; `count` if there is none.
 */
function firstNotBelow(rows: Uint16Array, row: number, from: number, count: number): number {
  let [low, step] = [from, 1]
  while (low + step <= count && (rows[low + step - 1] ?? 0) < row) {
    low += step
    step *= 2
  }
  let high = Math.min(low + step - 1, count)
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((rows[middle] ?? 0) < row) low = middle + 1
    else high = middle
  }
  return low
}
