import { tokenHash } from '#core/index/lexical/token-hash.ts'
import type { AnalyzedQuestion } from '#core/index/analysis/analyzer.ts'
import { hashTableOf, indexIn, type HashTable } from '#core/index/hash-table.ts'
import { inverseFrequency } from '#core/index/lexical/idf.ts'
import type { Question, QuestionPair, QuestionWord, TokenStatistics } from './interfaces.ts'

/** Statistics of a word of a question in a version. */
type WordStatistics = Pick<QuestionWord, 'word' | 'idf' | 'frequency'>

/**
 * It and what it calls loop instead of passing callbacks: V8 drops the machine code of a callback that each question
 * creates anew (decision 0032).
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
  const wordTable = hashTableOf(words)
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
  wordTable: HashTable,
  { description, pairFrequency }: TokenStatistics,
): readonly QuestionPair[] {
  const pairs: QuestionPair[] = []
  for (let at = 1; at < hashes.length; at++) {
    const [first = 0, second = 0] = [hashes[at - 1], hashes[at]]
    const [one, other] = [words[indexIn(wordTable, first)], words[indexIn(wordTable, second)]]
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
