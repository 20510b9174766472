import { tokenHash } from '#core/artifact/forward.ts'
import { analyze, primaryLanguage } from '#core/text/analyze.ts'
import type { ForwardIndex } from './forward.ts'
import type { Question } from './question.ts'

/** Words, function words left out, in which pairs count as near, and which make a window. */
const NEAR_WORDS = 3
const WINDOW_WORDS = 36
const SOFT_LETTERS_MIN = 4

/** Share of the question's pairs, by the lesser idf of the two, that stand side by side in any of the rows; undefined without pairs. */
export function adjacentPairs(question: Question, forward: ForwardIndex, rows: Uint32Array): number | undefined {
  return pairShare(question, (pairs) => {
    const found = new Set<number>()
    for (const row of rows) for (const pair of pairsWithin(pairs, positionsOf(question, forward, row), 1)) found.add(pair)
    return found
  })
}

/** The same for pairs in order within three words, in the one row that has most. */
export function nearPairs(question: Question, forward: ForwardIndex, rows: Uint32Array): number | undefined {
  let best: number | undefined
  for (const row of rows) {
    const share = pairShare(question, (pairs) => pairsWithin(pairs, positionsOf(question, forward, row), NEAR_WORDS))
    if (share === undefined) return undefined
    best = Math.max(best ?? 0, share)
  }
  return best
}

type Pair = readonly [first: number, second: number]

/** Neighbouring words of the question, by position; each pair once. */
function pairsOf({ words }: Question): readonly Pair[] {
  return words.slice(1).map((_, at) => [at, at + 1])
}

function pairShare(question: Question, find: (pairs: readonly Pair[]) => ReadonlySet<number>): number | undefined {
  const pairs = pairsOf(question)
  const weights = pairs.map(([first, second]) => Math.min(question.words[first]?.idf ?? 0, question.words[second]?.idf ?? 0))
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  if (total === 0) return undefined
  let found = 0
  for (const at of find(pairs)) found += weights[at] ?? 0
  return Math.min(1, found / total)
}

/** Where the question's words stand in a row. */
function positionsOf(question: Question, forward: ForwardIndex, row: number): readonly (readonly number[])[] {
  const positions: number[][] = question.words.map(() => [])
  const words = forward.read(row, row).words(row)
  for (let at = 0; at < words.length; at++) positions[question.position(words[at] ?? 0)]?.push(at)
  return positions
}

function pairsWithin(pairs: readonly Pair[], positions: readonly (readonly number[])[], distance: number): ReadonlySet<number> {
  const found = new Set<number>()
  for (const [at, [first, second]] of pairs.entries()) {
    const seconds = positions[second] ?? []
    if ((positions[first] ?? []).some((from) => seconds.some((to) => to > from && to - from <= distance))) found.add(at)
  }
  return found
}

/** The greatest share of the question, by idf, that a stretch of WINDOW_WORDS words of any of the rows says. */
export function windowCoverage(question: Question, forward: ForwardIndex, rows: Uint32Array): number {
  const total = question.words.reduce((sum, { idf }) => sum + idf, 0)
  let best = 0
  for (const row of rows) best = Math.max(best, bestWindow(question, forward.read(row, row).words(row)))
  return total === 0 ? 0 : Math.min(1, best / total)
}

function bestWindow(question: Question, words: Uint32Array): number {
  const inside = new Uint32Array(question.words.length)
  const hits: { readonly at: number; readonly place: number }[] = []
  let [from, weight, best] = [0, 0, 0]
  for (let at = 0; at < words.length; at++) {
    const place = question.position(words[at] ?? 0)
    if (place === -1) continue
    hits.push({ at, place })
    if (inside[place] === 0) weight += question.words[place]?.idf ?? 0
    inside[place] = (inside[place] ?? 0) + 1
    for (let oldest = hits[from]; oldest !== undefined && oldest.at <= at - WINDOW_WORDS; oldest = hits[++from]) {
      inside[oldest.place] = (inside[oldest.place] ?? 1) - 1
      if (inside[oldest.place] === 0) weight -= question.words[oldest.place]?.idf ?? 0
    }
    best = Math.max(best, weight)
  }
  return best
}

/** Share of a row's distinct words that the question asks for. */
export function firstFocus(question: Question, forward: ForwardIndex, row: number): number {
  const words = new Set(forward.read(row, row).words(row))
  let asked = 0
  for (const word of words) if (question.position(word) !== -1) asked += 1
  return words.size === 0 ? 0 : asked / words.size
}

/**
 * Share of the question, by idf, that a passage says: a word counts whole if it is there, else as much as the most similar word of the passage with the
 * same first letter resembles it (Dice over the sets of three neighbouring letters).
 */
export function softCoverage(
  question: Question,
  passage: { readonly language: string; readonly heading: string; readonly text: string },
  queryText: string,
): number {
  const language = primaryLanguage(passage.language)
  const terms = new Set(analyze(`${passage.heading}\n${passage.text}`, language))
  const similar = byFirstLetter(terms)
  const seen = new Set<number>()
  let [said, total] = [0, 0]
  for (const term of analyze(queryText, language)) {
    const place = question.position(tokenHash(language, term))
    if (place === -1 || seen.has(place)) continue
    seen.add(place)
    const { idf = 0 } = question.words[place] ?? {}
    said += idf * (terms.has(term) ? 1 : resemblance(term, similar.get(term[0] ?? '') ?? []))
    total += idf
  }
  return total === 0 ? 0 : said / total
}

interface Spelling {
  readonly grams: ReadonlySet<string>
}

function byFirstLetter(terms: ReadonlySet<string>): ReadonlyMap<string, readonly Spelling[]> {
  const spellings = new Map<string, Spelling[]>()
  for (const term of terms) {
    if (term.length < SOFT_LETTERS_MIN) continue
    const known = spellings.get(term[0] ?? '') ?? []
    known.push({ grams: gramsOf(term) })
    spellings.set(term[0] ?? '', known)
  }
  return spellings
}

function gramsOf(term: string): ReadonlySet<string> {
  if (term.length < SOFT_LETTERS_MIN) return new Set([term])
  return new Set(Array.from({ length: term.length - 2 }, (_, at) => term.slice(at, at + 3)))
}

function resemblance(term: string, spellings: readonly Spelling[]): number {
  const grams = gramsOf(term)
  let best = 0
  for (const other of spellings) {
    let common = 0
    for (const gram of grams) if (other.grams.has(gram)) common += 1
    best = Math.max(best, (2 * common) / (grams.size + other.grams.size))
  }
  return best
}
