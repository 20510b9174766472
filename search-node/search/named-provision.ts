import { citedOrder } from './boost.ts'
import type { CitedCandidates } from './candidates/source.ts'
import { namedCoverage, namesTopic } from './named-coverage.ts'
import type { Question } from './question.ts'
import type { VersionStatistics } from './statistics.ts'

/** Passages of named provisions that are compared with the question: those that a reply shows first. */
const NAMED_PASSAGES_MAX = 5

/** What a question asks about the provisions that it names. */
export interface NamedProvisions {
  /** All cited rows in the order of a reply of `limit` passages. */
  order(limit: number): readonly number[]
  /**
   * The share of what the question asks that the passages which a reply shows first contain. Undefined if the list
   * holds no passage of a named provision, or if the provision may be of several acts.
   * @param listed rows of the list.
   */
  coverage(listed: readonly number[]): number | undefined
}

/** @param languages BCP 47 codes that may be found. */
export function createNamedProvisions(
  { question, tokens, passage, columns }: VersionStatistics,
  cited: CitedCandidates,
  languages: readonly string[],
): NamedProvisions {
  if (cited.ids.size === 0) return { order: () => [], coverage: () => undefined }
  const remainder = question(cited.remainder, languages)
  const weights = topicWeights(remainder)
  const wordsOf = (row: number): Uint32Array => tokens.read(row, row).words(row)
  const relevances = new Map([...cited.ids.keys()].map((row) => [row, relevanceOf(remainder, weights, wordsOf(row))]))
  const order = (limit: number): readonly number[] => citedOrder(cited.ids, (row) => relevances.get(row) ?? 0, limit)
  const isAmbiguous = isOfSeveralDocuments(cited.ids, columns.documents)
  return {
    order,
    coverage(listed) {
      if (isAmbiguous || !listed.some((row) => cited.ids.has(row))) return undefined
      const rows = order(NAMED_PASSAGES_MAX).slice(0, NAMED_PASSAGES_MAX)
      const passages = rows.map((row) => {
        const { heading, text, metadata } = passage(row)
        return { text: { language: metadata.language, heading, text }, words: wordsOf(row).slice() }
      })
      return namedCoverage(remainder, passages)
    },
  }
}

/** Whether a reference without an act matches several documents, shown or not. */
function isOfSeveralDocuments(cited: CitedCandidates['ids'], documents: Uint32Array): boolean {
  const found = new Map<number, number | undefined>()
  for (const [row, { reference, withoutAct }] of cited) {
    if (!withoutAct) continue
    if (found.has(reference) && found.get(reference) !== documents[row]) return true
    found.set(reference, documents[row])
  }
  return false
}

/** Inverse document frequency of each word that names a topic; 0 for words that only ask. */
function topicWeights({ words }: Question): Float64Array {
  return Float64Array.from(words, (word) => (namesTopic(word) ? word.idf : 0))
}

function relevanceOf(remainder: Question, weights: Float64Array, words: Uint32Array): number {
  const seen = new Set<number>()
  let sum = 0
  for (const hash of words) {
    const place = remainder.position(hash)
    if (place === -1 || seen.has(place)) continue
    seen.add(place)
    sum += weights[place] ?? 0
  }
  return sum
}
