import { CHUNK_ROWS, chunkBytes } from '#core/index/lexical/layout.ts'
import { hasRow } from '#core/platform/bitset.ts'
import type { TopK } from '#core/platform/top-k.ts'
import type { LexicalGroup } from './query.ts'

/*
 * The inner loops of lexical scoring, over one chunk of rows at a time. The arrays are module constants, one set per
 * thread, and a thread scores one question at a time. The JIT compiler then knows their addresses: adding a posting
 * takes 1 ns instead of 3.6 ns. Scores are signed and below 2³¹ for the same reason.
 */

/** The postings of the last read: rows first, then impacts. */
const buffer = new ArrayBuffer(chunkBytes(CHUNK_ROWS))
const bytes = new Uint8Array(buffer)
const rows = new Uint16Array(buffer)

/** Scores of all rows of the chunk: 256 KiB, which stays in a core's private cache. All are 0 between chunks. */
const sums = new Int32Array(CHUNK_ROWS)

/** Rows of the chunk with a sum, in the order in which they got it; the element after the last is overwritten. */
const summedRows = new Uint16Array(CHUNK_ROWS + 1)
let summed = 0

/** Rows of the chunk that may be among the best, ascending, with their partial scores. */
const candidateRows = new Uint16Array(CHUNK_ROWS)
const candidateScores = new Int32Array(CHUNK_ROWS)
let candidates = 0

/** Adds a word's impacts to the sums, in the chunk that its lists were last positioned on (`seek`). */
export function addUp({ lists, weight }: LexicalGroup): void {
  for (const list of lists) {
    if (list.count === 0) continue
    list.read(bytes)
    addUpList(list.count, weight | 0)
  }
}

/** Every row is written to `summedRows`, and kept if it has no sum yet: a condition would be mispredicted. */
function addUpList(count: number, weight: number): void {
  const impactsAt = count * 2
  let end = summed
  for (let at = 0; at < count; at++) {
    const row = rows[at] ?? 0
    const sum = sums[row] ?? 0
    summedRows[end] = row
    end += (sum - 1) >>> 31
    sums[row] = (sum + Math.imul(weight, bytes[impactsAt + at] ?? 0)) | 0
  }
  summed = end
}

/** Offers the allowed rows with their sums. @param first row 0 of the chunk. */
export function offerSums(allowed: Uint32Array, first: number, best: TopK): void {
  let below = Math.max(0, best.threshold() - 1)
  for (let at = 0; at < summed; at++) {
    const row = summedRows[at] ?? 0
    const sum = sums[row] ?? 0
    if (sum <= below || !hasRow(allowed, row)) continue
    best.offer(first + row, sum)
    below = Math.max(0, best.threshold() - 1)
  }
}

/** Makes the allowed rows with a sum of at least `needed` the candidates; `needed` is at least 1. */
export function takeSums(allowed: Uint32Array, needed: number): void {
  const below = (needed - 1) | 0
  candidates = 0
  for (let word = 0; word < allowed.length; word++) {
    const bits = allowed[word] ?? 0
    if (bits === 0) continue
    for (let row = word * 32; row < word * 32 + 32; row += 8)
      if (anyOfEightAbove(row, below)) takeEight(row, bits, below)
  }
}

/** @param end row after the last of the chunk. */
export function clearSums(end: number): void {
  sums.fill(0, 0, end)
  summed = 0
}

/** Whether any of eight adjacent rows scores above `below`. One test of the combined signs replaces a test of each. */
function anyOfEightAbove(row: number, below: number): boolean {
  return (
    ((below - (sums[row] ?? 0)) |
      (below - (sums[row + 1] ?? 0)) |
      (below - (sums[row + 2] ?? 0)) |
      (below - (sums[row + 3] ?? 0)) |
      (below - (sums[row + 4] ?? 0)) |
      (below - (sums[row + 5] ?? 0)) |
      (below - (sums[row + 6] ?? 0)) |
      (below - (sums[row + 7] ?? 0))) <
    0
  )
}

function takeEight(first: number, bits: number, below: number): void {
  for (let row = first; row < first + 8; row++) {
    const sum = sums[row] ?? 0
    if (sum > below && ((bits >>> (row & 31)) & 1) === 1) take(row, sum)
  }
}

function take(row: number, score: number): void {
  candidateRows[candidates] = row
  candidateScores[candidates++] = score
}

/** Makes all allowed rows the candidates, with score 0. */
export function takeAllowed(allowed: Uint32Array): void {
  candidates = 0
  for (let word = 0; word < allowed.length; word++)
    for (let left = allowed[word] ?? 0; left !== 0; left &= left - 1) take(word * 32 + 31 - Math.clz32(left & -left), 0)
}

/** Adds a word's impacts to the candidates' scores. Each lookup starts where the previous one ended. */
export function addToCandidates({ lists, weight }: LexicalGroup): void {
  for (const list of lists) {
    if (list.count === 0) continue
    list.read(bytes)
    addListToCandidates(list.count, weight | 0)
  }
}

function addListToCandidates(count: number, weight: number): void {
  for (let at = 0, place = 0; at < candidates; at++) {
    const row = candidateRows[at] ?? 0
    place = firstNotBelow(row, place, count)
    if (place === count) return
    if (rows[place] === row)
      candidateScores[at] = ((candidateScores[at] ?? 0) + Math.imul(weight, bytes[count * 2 + place] ?? 0)) | 0
  }
}

/** Galloping search. @returns the first place from `from` on whose row is not below `row`; `count` if there is none. */
function firstNotBelow(row: number, from: number, count: number): number {
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

/** Drops the candidates that score below `needed`. @returns how many are left. */
export function keepCandidates(needed: number): number {
  let kept = 0
  for (let at = 0; at < candidates; at++) {
    const score = candidateScores[at] ?? 0
    if (score < needed) continue
    candidateRows[kept] = candidateRows[at] ?? 0
    candidateScores[kept++] = score
  }
  candidates = kept
  return kept
}

/** Offers the candidates with a score. @param first row 0 of the chunk. */
export function offerCandidates(first: number, best: TopK): void {
  for (let at = 0; at < candidates; at++) {
    const score = candidateScores[at] ?? 0
    if (score > 0) best.offer(first + (candidateRows[at] ?? 0), score)
  }
}
