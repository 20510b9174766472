import { tokenHash } from '#core/index/lexical/token-hash.ts'
import { analyze, primaryLanguage } from '#core/index/analysis/analyzer.ts'
import { indexIn } from '#core/index/hash-table.ts'
import type { Question } from './interfaces.ts'

/** Distance within which a pair is near, in words without function words. */
const NEAR_WORDS = 3
const SOFT_LETTERS_MIN = 4

/** Word hashes of a row, in text order. */
export type RowWords = Uint32Array

/**
 * Share of the question's pairs of adjacent words that stand within three words, in the best row, weighted by the lower
 * idf of the pair; undefined without pairs or rows.
 */
export function nearPairs(question: Question, rows: readonly RowWords[]): number | undefined {
  let best: number | undefined
  for (const words of rows) {
    const share = pairShare(question, pairsNear(question, words))
    if (share === undefined) return undefined
    best = Math.max(best ?? 0, share)
  }
  return best
}

/** A pair is a word of the question and the next one, identified by the index of the first. */
function pairShare({ words }: Question, found: ReadonlySet<number>): number | undefined {
  let [said, total] = [0, 0]
  for (let first = 0; first + 1 < words.length; first++) {
    const weight = Math.min(words[first]?.idf ?? 0, words[first + 1]?.idf ?? 0)
    total += weight
    if (found.has(first)) said += weight
  }
  return total === 0 ? undefined : Math.min(1, said / total)
}

/** The pairs whose second word follows the first within NEAR_WORDS words. */
function pairsNear({ words, wordTable }: Question, row: RowWords): ReadonlySet<number> {
  const found = new Set<number>()
  /** Last position of each word; -1: not seen. */
  const seen = new Int32Array(words.length).fill(-1)
  for (let at = 0; at < row.length; at++) {
    const index = indexIn(wordTable, row[at] ?? 0)
    if (index === -1) continue
    const first = index === 0 ? -1 : (seen[index - 1] ?? -1)
    if (first !== -1 && at - first <= NEAR_WORDS) found.add(index - 1)
    seen[index] = at
  }
  return found
}

/** Share of the question, weighted by idf, that a row holds. */
export function firstCoverage({ words, wordTable }: Question, row: RowWords): number {
  const held = new Set<number>()
  for (const hash of row) {
    const index = indexIn(wordTable, hash)
    if (index !== -1) held.add(index)
  }
  let [said, total] = [0, 0]
  for (const [index, { idf }] of words.entries()) {
    total += idf
    if (held.has(index)) said += idf
  }
  return total === 0 ? 0 : said / total
}

/**
 * Returns how well a passage holds each word of the question that has a term in its language: 1 if the word occurs,
 * else its similarity to the most similar word with the same first letter.
 * @param row the passage's words. @returns by the word's index in the question.
 */
export function resemblancesIn(question: Question, passage: PassageText, row: RowWords): ReadonlyMap<number, number> {
  const language = primaryLanguage(passage.language)
  const asked = new Map<number, { readonly term: string; readonly isThere: boolean }>()
  for (const term of question.asked.terms.get(language) ?? []) {
    const hash = tokenHash(language, term)
    const index = indexIn(question.wordTable, hash)
    if (index !== -1 && !asked.has(index)) asked.set(index, { term, isThere: row.includes(hash) })
  }
  const missing = [...asked.values()].filter(({ isThere }) => !isThere)
  const spellings = spellingsIn(passage, new Set(missing.map(({ term }) => firstLetter(term))))
  return new Map(
    [...asked].map(([index, { term, isThere }]) => [
      index,
      isThere ? 1 : resemblance(term, spellings.get(firstLetter(term)) ?? []),
    ]),
  )
}

export interface PassageText {
  readonly language: string
  readonly heading: string
  readonly text: string
}

function firstLetter(term: string): string {
  return term[0] ?? ''
}

/** The letter trigrams of a passage's words, grouped by first letter, for the given letters. */
function spellingsIn(
  { language, heading, text }: PassageText,
  letters: ReadonlySet<string>,
): ReadonlyMap<string, readonly ReadonlySet<string>[]> {
  const spellings = new Map<string, ReadonlySet<string>[]>()
  if (letters.size === 0) return spellings
  const wanted = (word: string): boolean => letters.has(firstLetter(word))
  for (const term of new Set(analyze(`${heading}\n${text}`, language, wanted))) {
    if (term.length < SOFT_LETTERS_MIN) continue
    const known = spellings.get(firstLetter(term))
    if (known === undefined) spellings.set(firstLetter(term), [trigramsOf(term)])
    else known.push(trigramsOf(term))
  }
  return spellings
}

function resemblance(term: string, others: readonly ReadonlySet<string>[]): number {
  const trigrams = trigramsOf(term)
  let best = 0
  for (const other of others) {
    let common = 0
    for (const trigram of trigrams) if (other.has(trigram)) common += 1
    best = Math.max(best, (2 * common) / (trigrams.size + other.size))
  }
  return best
}

function trigramsOf(term: string): ReadonlySet<string> {
  if (term.length < SOFT_LETTERS_MIN) return new Set([term])
  return new Set(Array.from({ length: term.length - 2 }, (_, at) => term.slice(at, at + 3)))
}
