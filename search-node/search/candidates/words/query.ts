import { inverseFrequency } from '#search-node/search/idf.ts'
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

/** Looks up a question's words. If more are known than `LEXICAL_BOUNDS` allows, the rarest are kept. */
export function prepareLexical(index: LexicalReader, words: readonly QueryWord[]): LexicalQuery {
  const found = merged(words.map((word) => ({ ...word, entries: entriesOf(index, word) })))
  const kept = boundedWords(
    found.map((word) => ({ ...word, frequency: word.entries.reduce((sum, { frequency }) => sum + frequency, 0) })),
  )
  const groups = kept.map(({ word, count, frequency, entries }): LexicalGroup => {
    const { rows } = index.description
    const idf = inverseFrequency(frequency, rows)
    const weight = Math.max(1, Math.round(idf * WEIGHT_STEPS * Math.min(count, LEXICAL_BOUNDS.timesMax)))
    const impactMax = Math.max(0, ...entries.map((entry) => entry.impactMax))
    return {
      word,
      frequency,
      idf,
      weight,
      maximum: weight * impactMax,
      lists: entries.map((entry) => index.list(entry)),
    }
  })
  return { groups, maximum: groups.reduce((sum, { maximum }) => sum + maximum, 0) }
}

interface FoundWord {
  readonly word: string
  readonly count: number
  readonly entries: readonly TermEntry[]
}

function entriesOf(index: LexicalReader, { terms }: QueryWord): readonly TermEntry[] {
  return terms.flatMap(({ language, term }) => index.find(language, term) ?? [])
}

/** Merges words that differ only in languages that do not hold them. */
function merged(words: readonly FoundWord[]): readonly FoundWord[] {
  const known = new Map<string, FoundWord>()
  for (const word of words) {
    const key = word.entries.length === 0 ? `unknown ${word.word}` : word.entries.map(({ offset }) => offset).join(' ')
    const same = known.get(key)
    known.set(key, same === undefined ? word : { ...same, count: same.count + word.count })
  }
  return [...known.values()]
}

function boundedWords<Word extends FoundWord & { readonly frequency: number }>(
  words: readonly Word[],
): readonly Word[] {
  const rarestFirst = words.filter(({ frequency }) => frequency > 0).toSorted((a, b) => a.frequency - b.frequency)
  const dropped = new Set<Word>()
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
