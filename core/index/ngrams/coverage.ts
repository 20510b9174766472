import { ngramBeginnings, ngramHashes, type NgramBeginnings } from '#core/index/analysis/ngrams.ts'
import { hashTableOf, indexIn, type HashTable } from '#core/index/hash-table.ts'
import { inverseFrequency } from '#core/index/lexical/idf.ts'
import type { NgramsReader } from './reader.ts'
import type { BackgroundModel } from './layout.ts'

/** The distinct n-grams of a question. */
export interface NgramQuestion {
  readonly table: HashTable
  readonly beginnings: NgramBeginnings
  /** Inverse document frequency of each. */
  readonly weights: Float64Array
  /** Sum of the weights. */
  readonly information: number
}

/** @param words of the question, as `indexWords` gives them. */
export function ngramQuestion(
  words: readonly string[],
  ngrams: Pick<NgramsReader, 'rows' | 'frequency'>,
): NgramQuestion {
  const text = words.join(' ')
  const distinct = new Set<number>(ngramHashes(text))
  const items: { readonly hashes: readonly number[] }[] = []
  const weights = new Float64Array(distinct.size)
  let information = 0
  for (const hash of distinct) {
    const weight = inverseFrequency(ngrams.frequency(hash), ngrams.rows)
    weights[items.length] = weight
    information += weight
    items.push({ hashes: [hash] })
  }
  return { table: hashTableOf(items), beginnings: ngramBeginnings(text), weights, information }
}

/**
 * Share of a question's n-grams, by weight, that a text holds; 0 for a question without any. @param hashes of the text.
 */
export function heldNgrams({ table, weights, information }: NgramQuestion, hashes: Int32Array): number {
  if (information === 0) return 0
  const seen = new Uint8Array(weights.length)
  let held = 0
  for (let at = 0; at < hashes.length; at++) {
    const index = indexIn(table, hashes[at] ?? 0)
    if (index === -1 || seen[index] === 1) continue
    seen[index] = 1
    held += weights[index] ?? 0
  }
  return held / information
}

/** Parameters of BM25 over n-grams: those of the words (decision 0006). */
const BM25 = { k1: 0.9, b: 0.7 } as const

/**
 * Score of a text by BM25 over a question's n-grams, as the share of the greatest possible one; 0 for a question
 * without any. @param hashes of the text. @param length words of the text, in means of a passage.
 */
export function ngramScore({ table, weights, information }: NgramQuestion, hashes: Int32Array, length: number): number {
  if (information === 0) return 0
  const counts = new Uint16Array(weights.length)
  for (let at = 0; at < hashes.length; at++) {
    const index = indexIn(table, hashes[at] ?? 0)
    if (index !== -1) counts[index] = (counts[index] ?? 0) + 1
  }
  const saturation = BM25.k1 * (1 - BM25.b + BM25.b * length)
  let score = 0
  for (let index = 0; index < counts.length; index++) {
    const count = counts[index] ?? 0
    if (count > 0) score += ((weights[index] ?? 0) * count) / (count + saturation)
  }
  return score / information
}

/** Passages of which the best and the mean count. */
export const COVERING_PASSAGES = 5

/** The first candidates, of which as many as are in the first one's document count. */
export const DOCUMENT_CANDIDATES = 50

/** How much of a question the first passages hold, and how many candidates are in one document. Each in [0, 1]. */
export type Coverage = Readonly<Record<'words_best' | 'grams_best' | 'grams_mass' | 'document_share', number>>

/**
 * @param words shares of the question's words that the first passages hold, by inverse document frequency.
 * @param ngrams of its n-grams. Both have the same length, at most COVERING_PASSAGES; 0 without passages.
 * @param documentShare of the first DOCUMENT_CANDIDATES candidates, those in the first one's document.
 */
export function coverageOf(words: readonly number[], ngrams: readonly number[], documentShare: number): Coverage {
  return {
    document_share: documentShare,
    words_best: Math.max(0, ...words),
    grams_best: Math.max(0, ...ngrams),
    grams_mass: ngrams.reduce((sum, share) => sum + share, 0) / Math.max(1, ngrams.length),
  }
}

/** Returns how much more of a question the first passages hold than the version's background; each in [-1, 1]. */
export function aboveBackground(coverage: Coverage, information: number, background: BackgroundModel): Coverage {
  const [least, greatest] = background.information
  const at = Math.min(greatest, Math.max(least, Math.log(Math.max(1, information))))
  const above = (name: keyof Coverage): number => {
    const { intercept, slope } = background[name]
    return coverage[name] - Math.min(1, Math.max(0, intercept + slope * at))
  }
  return {
    words_best: above('words_best'),
    grams_best: above('grams_best'),
    grams_mass: above('grams_mass'),
    document_share: above('document_share'),
  }
}
