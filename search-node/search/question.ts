import { tokenHash } from '#core/index/lexical/token-hash.ts'
import type { AnalyzedQuestion } from '#core/index/analysis/analyzer.ts'
import { inverseFrequency } from './idf.ts'
import type { TokenStatistics } from './token-statistics.ts'

/** A word of a question, under the hashes that the forward index knows its terms by: one a language. */
export interface QuestionWord {
  readonly idf: number
  /** Rows of the version that hold it. */
  readonly frequency: number
  readonly hashes: readonly number[]
}

/** Two words that stand side by side in a question, function words passed over. */
export interface QuestionPair {
  readonly first: number
  readonly second: number
  /** What the pair says beyond its words: its inverse document frequency less the mean of theirs, > 0. */
  readonly weight: number
}

/** A question as the closer look at candidates needs it. */
export interface Question {
  readonly words: readonly QuestionWord[]
  /** The question in all languages of the version. */
  readonly asked: AnalyzedQuestion
  readonly pairs: readonly QuestionPair[]
  /** The greatest sum of pair weights that one passage, being in one language, can hold. */
  readonly pairsWeight: number
  /** Position in `words` of a word hash; -1: not asked for. */
  readonly position: (hash: number) => number
}

/** A word of a question as a version knows it. */
export interface WordStatistics {
  readonly word: string
  readonly idf: number
  /** Rows of the version that hold it. */
  readonly frequency: number
}

/**
 * @param asked the question in all languages of the version. @param languages primary subtags, those that may be found.
 * @param statistics of the words that are looked at; the others are left out.
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

/** A hash table with open addressing: a question's words are looked for among thousands of words of its candidates. */
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
