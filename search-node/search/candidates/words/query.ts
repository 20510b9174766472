import { inverseFrequency } from '#core/index/lexical/idf.ts'
import { IMPACT_MAX } from '#core/index/lexical/layout.ts'
import type { QueryWord } from '#core/index/analysis/analyzer.ts'
import type { LexicalReader } from '#core/index/lexical/reader.ts'
import type { PostingList, TermEntry } from '#core/index/lexical/posting-list.ts'

/** A word of a question with its statistics in the version. It has one term per language; no row holds two of them. */
export interface LexicalGroup {
  readonly word: string
  /** Rows of the whole version that hold it, regardless of filters; 0 for a word that the version does not know. */
  readonly frequency: number
  /** See `inverseFrequency`. */
  readonly idf: number
  /** Factor of an impact: idf × occurrences in the question, as an integer; see SCORE_UNIT. */
  readonly weight: number
  /** Upper bound of what the word adds to a row's score. */
  readonly maximum: number
  readonly lists: readonly PostingList[]
}

/** A prepared question that one thread can score repeatedly. */
export interface LexicalQuery {
  /** In order of first appearance, including words unknown to the version. */
  readonly groups: readonly LexicalGroup[]
  /** Upper bound of a row's score. */
  readonly maximum: number
}

/** Weight steps per unit of idf. */
const WEIGHT_STEPS = 256
/** Integer score × SCORE_UNIT = BM25 without its constant factor k1 + 1. */
export const SCORE_UNIT = 1 / (WEIGHT_STEPS * IMPACT_MAX)

/** With these, no sum of scores reaches 2³¹: 64 words × 16 times × idf 22 (2³² rows) × 256 × 255. */
export const LEXICAL_BOUNDS = { wordsMax: 64, timesMax: 16, listsMax: 192 } as const

/**
 * Looks up a question's words. If more are known than `LEXICAL_BOUNDS` allows, the rarest are kept. It loops instead of
 * passing callbacks: V8 drops the machine code of a callback that each question creates anew (decision 0032).
 */
export function prepareLexical(index: LexicalReader, words: readonly QueryWord[]): LexicalQuery {
  const groups: LexicalGroup[] = []
  let maximum = 0
  for (const word of boundedWords(foundWords(index, words))) {
    const group = groupOf(index, word)
    groups.push(group)
    maximum += group.maximum
  }
  return { groups, maximum }
}

interface FoundWord {
  readonly word: string
  readonly count: number
  /** Rows of the whole version that hold it. */
  readonly frequency: number
  readonly entries: readonly TermEntry[]
}

function groupOf(index: LexicalReader, found: FoundWord): LexicalGroup {
  const { word, count, frequency, entries } = found
  const idf = inverseFrequency(frequency, index.description.rows)
  const weight = Math.max(1, Math.round(idf * WEIGHT_STEPS * Math.min(count, LEXICAL_BOUNDS.timesMax)))
  const lists: PostingList[] = []
  let impactMax = 0
  for (const entry of entries) {
    if (index.hasPostings) lists.push(index.list(entry))
    impactMax = Math.max(impactMax, entry.impactMax)
  }
  return { word, frequency, idf, weight, maximum: weight * impactMax, lists }
}

/** Words that differ only in languages that do not hold them are one. */
function foundWords(index: LexicalReader, words: readonly QueryWord[]): readonly FoundWord[] {
  const known = new Map<string, FoundWord>()
  for (const { word, count, terms } of words) {
    const entries: TermEntry[] = []
    let [key, frequency] = ['', 0]
    for (const { language, term } of terms) {
      const entry = index.find(language, term)
      if (entry === undefined) continue
      entries.push(entry)
      key += `${entry.offset} `
      frequency += entry.frequency
    }
    if (entries.length === 0) key = `unknown ${word}`
    const same = known.get(key)
    known.set(key, same === undefined ? { word, count, frequency, entries } : { ...same, count: same.count + count })
  }
  return [...known.values()]
}

function boundedWords(words: readonly FoundWord[]): readonly FoundWord[] {
  let all = 0
  for (const { entries } of words) all += entries.length
  if (words.length <= LEXICAL_BOUNDS.wordsMax && all <= LEXICAL_BOUNDS.listsMax) return words
  const rarestFirst = words.filter(({ frequency }) => frequency > 0).toSorted((a, b) => a.frequency - b.frequency)
  const dropped = new Set<FoundWord>()
  let [kept, lists] = [0, 0]
  for (const word of rarestFirst) {
    if (kept === LEXICAL_BOUNDS.wordsMax || lists + word.entries.length > LEXICAL_BOUNDS.listsMax) dropped.add(word)
    else {
      kept += 1
      lists += word.entries.length
    }
  }
  return words.filter((word) => !dropped.has(word))
}
