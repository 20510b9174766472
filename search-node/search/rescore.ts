import { spanEnd } from '#core/index/storage/read-spans.ts'
import { indexIn } from '#core/index/hash-table.ts'
import type { Question, QuestionPair, TokenRange, TokenStatistics } from './interfaces.ts'

/**
 * Parameters of rescoring; see decision 0008. `k1` and `b` are BM25's, over occurrences in the passage and, with less
 * weight, in the adjacent texts and those one further. Pairs of adjacent words count too (sequential dependence:
 * Metzler & Croft 2005).
 */
export const RESCORE = { k1: 0.9, b: 0.7, beside: 0.1, near: 0.05, pairs: 0.6, pairK1: 0.3, pairB: 0.5 } as const

/** Which rows count as context. A row that the request may not see adds nothing to its neighbours. */
export interface ContextWindow {
  readonly rows: number
  readonly sameRevisionAsPrevious: (row: number) => boolean
  readonly allowed: (row: number) => boolean
}

/**
 * Scores rows by their own words, their word pairs and their context window. A row's score does not depend on the other
 * candidates.
 * @returns scores in [0, 1]: the share of the greatest possible score of a passage.
 */
export function rescoreRows(
  question: Question,
  forward: TokenStatistics,
  contextWindow: ContextWindow,
  rows: Uint32Array,
): Float64Array {
  const scores = new Float64Array(rows.length)
  const counts = new Float64Array(question.words.length)
  const most = greatestScore(question)
  if (most === 0) return scores
  for (let from = 0; from < rows.length;) {
    const to = spanEnd(rows, from, DISTANCE_MAX, SPAN_MAX)
    const read = forward.read(
      Math.max(0, (rows[from] ?? 0) - CONTEXT_ROWS),
      Math.min(contextWindow.rows - 1, (rows[to] ?? 0) + CONTEXT_ROWS),
    )
    for (let at = from; at <= to; at++) {
      counts.fill(0)
      scores[at] = Math.min(1, scoreRow(question, forward, contextWindow, read, rows[at] ?? 0, counts) / most)
    }
    from = to + 1
  }
  return scores
}

/** Rows of the context window on each side. */
const CONTEXT_ROWS = 2
/** Largest distance between two candidates that one call reads; see `spanEnd`. */
const DISTANCE_MAX = 16
const SPAN_MAX = 256

/** Upper bound of a passage's score before it is scaled to [0, 1]. */
export function greatestScore({ words, pairsWeight }: Question): number {
  const ofWords = words.reduce((sum, { idf }) => sum + idf, 0) * (RESCORE.k1 + 1)
  return ofWords + RESCORE.pairs * (RESCORE.pairK1 + 1) * pairsWeight
}

/** @param counts zeros, one for each word; receives occurrences. */
function scoreRow(
  question: Question,
  { description }: TokenStatistics,
  { rows, sameRevisionAsPrevious, allowed }: ContextWindow,
  { tokens, start, textStart, end }: TokenRange,
  row: number,
  counts: Float64Array,
): number {
  const before = row > 0 && sameRevisionAsPrevious(row) ? 1 + Number(row > 1 && sameRevisionAsPrevious(row - 1)) : 0
  const after =
    row + 1 < rows && sameRevisionAsPrevious(row + 1)
      ? 1 + Number(row + 2 < rows && sameRevisionAsPrevious(row + 2))
      : 0
  const own = end(row) - start(row)
  const ofOwn = countOwn(question, tokens, start(row), end(row), counts)
  // Context adds to a score but does not replace it: a row without any word of the question scores 0.
  if (!ofOwn.any) return 0
  let length = own
  for (let other = row - before; other <= row + after; other++) {
    if (other === row || !allowed(other)) continue
    const weight = Math.abs(other - row) === 1 ? RESCORE.beside : RESCORE.near
    count(question, tokens, textStart(other), end(other), weight, counts)
    length += weight * (end(other) - textStart(other))
  }
  const mean = description.mean_length + RESCORE.beside * description.mean_beside + RESCORE.near * description.mean_near
  const saturation = RESCORE.k1 * (1 - RESCORE.b + (RESCORE.b * length) / Math.max(1, mean))
  let score = 0
  for (let index = 0; index < question.words.length; index++) {
    const occurrences = counts[index] ?? 0
    if (occurrences > 0)
      score += ((question.words[index]?.idf ?? 0) * (RESCORE.k1 + 1) * occurrences) / (occurrences + saturation)
  }
  if (ofOwn.pairs === undefined) return score
  return score + RESCORE.pairs * pairScore(question.pairs, ofOwn.pairs, own, description.mean_length)
}

/** Adds the occurrences of words between two positions to the counts, times `weight`. */
function count(
  { wordTable }: Question,
  tokens: Uint32Array,
  from: number,
  to: number,
  weight: number,
  counts: Float64Array,
): void {
  for (let at = from; at < to; at++) {
    const index = indexIn(wordTable, tokens[at] ?? 0)
    if (index !== -1) counts[index] = (counts[index] ?? 0) + weight
  }
}

/**
 * Counts the words of the row itself, with weight 1, and its pairs.
 * @returns `any`: whether any word of the question occurs. `pairs`: occurrences of each; undefined if none occurs.
 */
function countOwn({ wordTable, pairs }: Question, tokens: Uint32Array, from: number, to: number, counts: Float64Array) {
  let ofPairs: Float64Array | undefined
  let any = false
  let previous = -1
  for (let at = from; at < to; at++) {
    const index = indexIn(wordTable, tokens[at] ?? 0)
    if (index !== -1) {
      counts[index] = (counts[index] ?? 0) + 1
      any = true
    }
    if (index !== -1 && previous !== -1) {
      for (let pair = 0; pair < pairs.length; pair++) {
        if (pairs[pair]?.first !== tokens[at - 1] || pairs[pair]?.second !== tokens[at]) continue
        ofPairs ??= new Float64Array(pairs.length)
        ofPairs[pair] = (ofPairs[pair] ?? 0) + 1
      }
    }
    previous = index
  }
  return { any, pairs: ofPairs }
}

/** @param counts of each pair. @param length words of the row. */
function pairScore(pairs: readonly QuestionPair[], counts: Float64Array, length: number, meanLength: number): number {
  const saturation = RESCORE.pairK1 * (1 - RESCORE.pairB + (RESCORE.pairB * length) / Math.max(1, meanLength))
  let score = 0
  for (const [pair, { weight }] of pairs.entries()) {
    const occurrences = counts[pair] ?? 0
    if (occurrences > 0) score += (weight * (RESCORE.pairK1 + 1) * occurrences) / (occurrences + saturation)
  }
  return score
}
