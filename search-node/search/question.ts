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
  /** Position in `words` of a word hash; -1: not in the question. */
  readonly position: (hash: number) => number
}

/** Statistics of a word of a question in a version. */
export interface WordStatistics {
  readonly word: string
  readonly idf: number
  /** Rows of the version that hold it. */
  readonly frequency: number
}

/**
 * @param asked the question in all languages of the version. @param languages primary subtags of the languages that may
 * be found. @param statistics of the words to use; other words are left out.
 */
export function questionOf(
  asked: AnalyzedQuestion,
  languages: readonly string[],
  statistics: readonly WordStatistics[],
  tokens: TokenStatistics,
): Question {
  const groups = new Map(statistics.map((word) => [word.word, word]))
  const words = asked.words.flatMap(({ word, terms }) => {
    const group = groups.get(word)
    return group === undefined
      ? []
      : [
          {
            word,
            idf: group.idf,
            frequency: group.frequency,
            hashes: terms.map(({ language, term }) => tokenHash(language, term)),
          },
        ]
  })
  const position = positions(words)
  const byLanguage = languages.map((language) => {
    const hashes = (asked.terms.get(language) ?? []).map((term) => tokenHash(language, term))
    return pairsOf(hashes, words, position, tokens)
  })
  return {
    words,
    asked,
    pairs: byLanguage.flat(),
    pairsWeight: Math.max(0, ...byLanguage.map((pairs) => pairs.reduce((sum, { weight }) => sum + weight, 0))),
    position,
  }
}

/** @param hashes of the question's words in one language, in their order. */
function pairsOf(
  hashes: readonly number[],
  words: readonly QuestionWord[],
  position: (hash: number) => number,
  { description, pairFrequency }: TokenStatistics,
): readonly QuestionPair[] {
  const pairs = new Map<string, QuestionPair>()
  for (let at = 1; at < hashes.length; at++) {
    const [first = 0, second = 0] = [hashes[at - 1], hashes[at]]
    const [one, other] = [words[position(first)], words[position(second)]]
    if (one === undefined || other === undefined) continue
    const weight = inverseFrequency(pairFrequency(first, second), description.rows) - (one.idf + other.idf) / 2
    if (weight > 0) pairs.set(`${first} ${second}`, { first, second, weight })
  }
  return [...pairs.values()]
}

/** A hash table with open addressing, because thousands of words of the candidates are looked up in it. */
function positions(words: readonly QuestionWord[]): (hash: number) => number {
  const count = words.reduce((sum, { hashes }) => sum + hashes.length, 0)
  const mask = 2 ** Math.ceil(Math.log2(count * 4 + 4)) - 1
  const keys = new Uint32Array(mask + 1)
  const values = new Int32Array(mask + 1).fill(-1)
  for (const [place, { hashes }] of words.entries()) {
    for (const hash of hashes) {
      let at = hash & mask
      while (keys[at] !== 0 && keys[at] !== hash) at = (at + 1) & mask
      if (keys[at] === 0) [keys[at], values[at]] = [hash, place]
    }
  }
  return (hash) => {
    for (let at = hash & mask; keys[at] !== 0; at = (at + 1) & mask) if (keys[at] === hash) return values[at] ?? -1
    return -1
  }
}
