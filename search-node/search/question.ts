import { tokenHash } from '#core/index/lexical/token-hash.ts'
import type { AnalyzedQuestion } from '#core/index/analysis/analyzer.ts'
import { inverseFrequency } from './idf.ts'
import type { TokenStatistics } from './token-statistics.ts'

/** A word of a question with the hashes of its terms in the forward index, one per language. */
export interface QuestionWord {
  /** Folded. */
  readonly word: string
  readonly idf: number
  /** Rows of the version that hold it. */
  readonly frequency: number
  readonly hashes: readonly number[]
}

/** Two adjacent words of a question; function words are skipped. */
export interface QuestionPair {
  readonly first: number
  readonly second: number
  /** Idf of the pair minus the mean idf of its words; > 0. */
  readonly weight: number
}

/** A question in the form that rescoring needs. */
export interface Question {
  readonly words: readonly QuestionWord[]
  /** The question in all languages of the version. */
  readonly asked: AnalyzedQuestion
  readonly pairs: readonly QuestionPair[]
  /** Upper bound of the pair weights in one passage, which is in one language. */
  readonly pairsWeight: number
  /** Index of each word hash in `words`; see `wordIndexOf`. */
  readonly wordTable: WordTable
}

/** Statistics of a word of a question in a version. */
export interface WordStatistics {
  readonly word: string
  readonly idf: number
  /** Rows of the version that hold it. */
  readonly frequency: number
}

/**
 * It and what it calls loop instead of passing callbacks: V8 drops the machine code of a callback that each question
 * creates anew (decision 0030).
 * @param asked the question in all languages of the version. @param languages primary subtags of the languages that may
 * be found. @param statistics of the words to use; other words are left out.
 */
export function questionOf(
  asked: AnalyzedQuestion,
  languages: readonly string[],
  statistics: readonly WordStatistics[],
  tokens: TokenStatistics,
): Question {
  const words = wordsIn(asked, statistics)
  const wordTable = wordTableOf(words)
  const pairs: QuestionPair[] = []
  let pairsWeight = 0
  for (const language of languages) {
    const ofLanguage = pairsOf(hashesOf(language, asked.terms.get(language) ?? []), words, wordTable, tokens)
    pairsWeight = Math.max(pairsWeight, weightOf(ofLanguage))
    pairs.push(...ofLanguage)
  }
  return { words, asked, pairs, pairsWeight, wordTable }
}

/** The words of a question that have statistics, in their order. */
function wordsIn(asked: AnalyzedQuestion, statistics: readonly WordStatistics[]): readonly QuestionWord[] {
  const known = new Map<string, WordStatistics>()
  for (const word of statistics) known.set(word.word, word)
  const words: QuestionWord[] = []
  for (const { word, terms } of asked.words) {
    const found = known.get(word)
    if (found === undefined) continue
    const hashes: number[] = []
    for (const { language, term } of terms) hashes.push(tokenHash(language, term))
    words.push({ word, idf: found.idf, frequency: found.frequency, hashes })
  }
  return words
}

function hashesOf(language: string, terms: readonly string[]): readonly number[] {
  const hashes: number[] = []
  for (const term of terms) hashes.push(tokenHash(language, term))
  return hashes
}

function weightOf(pairs: readonly QuestionPair[]): number {
  let sum = 0
  for (const { weight } of pairs) sum += weight
  return sum
}

/** @param hashes of the question's words in one language, in their order. */
function pairsOf(
  hashes: readonly number[],
  words: readonly QuestionWord[],
  wordTable: WordTable,
  { description, pairFrequency }: TokenStatistics,
): readonly QuestionPair[] {
  const pairs: QuestionPair[] = []
  for (let at = 1; at < hashes.length; at++) {
    const [first = 0, second = 0] = [hashes[at - 1], hashes[at]]
    const [one, other] = [words[wordIndexOf(wordTable, first)], words[wordIndexOf(wordTable, second)]]
    if (one === undefined || other === undefined || hasPair(pairs, first, second)) continue
    const weight = inverseFrequency(pairFrequency(first, second), description.rows) - (one.idf + other.idf) / 2
    if (weight > 0) pairs.push({ first, second, weight })
  }
  return pairs
}

function hasPair(pairs: readonly QuestionPair[], first: number, second: number): boolean {
  for (const pair of pairs) if (pair.first === first && pair.second === second) return true
  return false
}

/** A hash table with open addressing, because thousands of words of the candidates are looked up in it. */
export interface WordTable {
  /** Word hashes; 0: a free slot. Signed, because most lookups then need no conversion. */
  readonly keys: Int32Array
  readonly indexes: Int32Array
}

function wordTableOf(words: readonly QuestionWord[]): WordTable {
  let count = 0
  for (const { hashes } of words) count += hashes.length
  const slots = 2 ** Math.ceil(Math.log2(count * 16 + 4))
  const keys = new Int32Array(slots)
  const indexes = new Int32Array(slots)
  for (const [index, { hashes }] of words.entries()) {
    for (const hash of hashes) {
      const key = hash | 0
      let at = key & (slots - 1)
      while (keys[at] !== 0 && keys[at] !== key) at = (at + 1) & (slots - 1)
      if (keys[at] === 0) [keys[at], indexes[at]] = [key, index]
    }
  }
  return { keys, indexes }
}

/** Index of a word hash in the words of a question; -1: it has no such word. */
export function wordIndexOf({ keys, indexes }: WordTable, hash: number): number {
  const mask = keys.length - 1
  const wanted = hash | 0
  for (let at = wanted & mask; ; at = (at + 1) & mask) {
    const key = keys[at] ?? 0
    if (key === 0) return -1
    if (key === wanted) return indexes[at] ?? -1
  }
}
