import type { ForwardIndex, RowsWords } from './forward.ts'
import type { Question, QuestionPair } from './question.ts'

/**
 * What a closer look at a candidate counts; see decision 0008. `k1` and `b` are BM25's, over occurrences in the passage and, with less weight, in
 * the texts beside it and one further; pairs of neighbouring words count besides (Metzler & Croft 2005 call this sequential dependence).
 */
export const RESCORE = { k1: 0.9, b: 0.7, beside: 0.1, near: 0.05, pairs: 0.6, pairK1: 0.3, pairB: 0.5 } as const

/** Which rows count as context: a row that the request may not see says nothing for its neighbours. */
export interface Surroundings {
  readonly rows: number
  /** Whether a row belongs to the same revision as the row before it. */
  readonly continues: (row: number) => boolean
  readonly allowed: (row: number) => boolean
}

export interface Rescored {
  /** In [0, 1]: the share of the most that any passage could reach. */
  readonly scores: Float64Array
  /** Of each row what each word of the question adds to its score, pairs apart: first all words of the first row. */
  readonly contributions: Float64Array
}

/** Scores rows by their own words, their pairs of words and their surroundings; every row alike, whatever the other candidates are. */
export function rescoreRows(question: Question, forward: ForwardIndex, surroundings: Surroundings, rows: Uint32Array): Rescored {
  const width = question.words.length
  const scores = new Float64Array(rows.length)
  const contributions = new Float64Array(rows.length * width)
  const most = greatestScore(question)
  if (most === 0) return { scores, contributions }
  for (let from = 0; from < rows.length;) {
    const to = groupEnd(rows, from)
    const read = forward.read(Math.max(0, (rows[from] ?? 0) - REACH), Math.min(surroundings.rows - 1, (rows[to] ?? 0) + REACH))
    for (let at = from; at <= to; at++) {
      const ofWords = contributions.subarray(at * width, (at + 1) * width)
      let score = scoreRow(question, forward, surroundings, read, rows[at] ?? 0, ofWords) / most
      for (let place = 0; place < width; place++) score += ofWords[place] = (ofWords[place] ?? 0) / most
      scores[at] = Math.min(1, score)
    }
    from = to + 1
  }
  return { scores, contributions }
}

/** Rows on either side that count as surroundings. */
const REACH = 2
/** Rows worth reading along to save a system call, and how many one call may span. */
const GAP_ROWS = 16
const SPAN_ROWS_MAX = 256

/** Last position of the candidates that are read together with the one at `from`. */
function groupEnd(rows: Uint32Array, from: number): number {
  const first = rows[from] ?? 0
  let to = from
  for (; to + 1 < rows.length; to++) {
    const [row = 0, next = 0] = [rows[to], rows[to + 1]]
    if (next < row || next - row > GAP_ROWS || next - first > SPAN_ROWS_MAX) break
  }
  return to
}

/** The sum that no passage exceeds. */
export function greatestScore({ words, pairsWeight }: Question): number {
  const ofWords = words.reduce((sum, { idf }) => sum + idf, 0) * (RESCORE.k1 + 1)
  return ofWords + RESCORE.pairs * (RESCORE.pairK1 + 1) * pairsWeight
}

/** @param counts zeros; becomes what each word adds. @returns what the pairs add. */
function scoreRow(
  question: Question,
  { description }: ForwardIndex,
  { rows, continues, allowed }: Surroundings,
  read: RowsWords,
  row: number,
  counts: Float64Array,
): number {
  const before = row > 0 && continues(row) ? 1 + Number(row > 1 && continues(row - 1)) : 0
  const after = row + 1 < rows && continues(row + 1) ? 1 + Number(row + 2 < rows && continues(row + 2)) : 0
  const own = read.words(row)
  count(question, own, 1, counts)
  let length = own.length
  for (let other = row - before; other <= row + after; other++) {
    if (other === row || !allowed(other)) continue
    const weight = Math.abs(other - row) === 1 ? RESCORE.beside : RESCORE.near
    const words = read.textWords(other)
    count(question, words, weight, counts)
    length += weight * words.length
  }
  const mean = description.mean_length + RESCORE.beside * description.mean_beside + RESCORE.near * description.mean_near
  const saturation = RESCORE.k1 * (1 - RESCORE.b + (RESCORE.b * length) / Math.max(1, mean))
  for (const [place, { idf }] of question.words.entries()) {
    const occurrences = counts[place] ?? 0
    if (occurrences > 0) counts[place] = (idf * (RESCORE.k1 + 1) * occurrences) / (occurrences + saturation)
  }
  return RESCORE.pairs * pairScore(question.pairs, read.words(row), description.mean_length)
}

function count({ position }: Question, words: Uint32Array, weight: number, counts: Float64Array): void {
  for (let at = 0; at < words.length; at++) {
    const place = position(words[at] ?? 0)
    if (place !== -1) counts[place] = (counts[place] ?? 0) + weight
  }
}

function pairScore(pairs: readonly QuestionPair[], words: Uint32Array, meanLength: number): number {
  const saturation = RESCORE.pairK1 * (1 - RESCORE.pairB + (RESCORE.pairB * words.length) / Math.max(1, meanLength))
  let score = 0
  for (const { first, second, weight } of pairs) {
    let occurrences = 0
    for (let at = words.indexOf(first); at !== -1 && at + 1 < words.length; at = words.indexOf(first, at + 1)) if (words[at + 1] === second) occurrences += 1
    if (occurrences > 0) score += (weight * (RESCORE.pairK1 + 1) * occurrences) / (occurrences + saturation)
  }
  return score
}
