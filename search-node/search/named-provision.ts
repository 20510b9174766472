import { namedOrder } from './boost.ts'
import type { NamedRows, Question, VersionStatistics } from './interfaces.ts'
import { heldWeight, namedCoverage, namesTopic, type NamedCoverage } from './named-coverage.ts'

/** Passages of named provisions that are compared with the question: those that a reply shows first. */
const NAMED_PASSAGES_MAX = 5

/** How the passages of named provisions compare with what the question asks, and with other candidates. */
export interface NamedFigures extends Omit<NamedCoverage, 'alone'> {
  /**
   * Best score by vector of the named passages less that of the other candidates, at most 0: a near provision need not
   * say what is asked. 0 without vectors or other candidates, and where nothing else is asked than the provision.
   */
  readonly margin: number
}

/** Candidates of a round, named passages included. */
export interface RoundCandidates {
  /** Rows of the lexical ranking, which are compared by their words. */
  readonly byWords: Uint32Array
  readonly rows: Uint32Array
  /** Scores by vector of `rows`; undefined: there are none. */
  readonly scores: Float64Array | undefined
}

/** What a question asks about the provisions that it names. */
export interface NamedProvisions {
  /** All named rows in the order of a reply of `limit` passages. */
  order(limit: number): readonly number[]
  /**
   * Compares the passages that a reply shows first. Undefined if the list holds no passage of a named provision, or if
   * the provision may be of several acts.
   * @param listed rows of the list.
   */
  figures(listed: readonly number[], candidates: RoundCandidates): NamedFigures | undefined
}

/** @param languages BCP 47 codes that may be found. */
export function createNamedProvisions(
  { question, tokens, passage, columns }: VersionStatistics,
  namedRows: NamedRows,
  languages: readonly string[],
): NamedProvisions {
  if (namedRows.ids.size === 0) return { order: () => [], figures: () => undefined }
  const remainder = question(namedRows.remainder, languages)
  const weights = topicWeights(remainder)
  const wordsOf = (row: number): Uint32Array => tokens.read(row, row).words(row)
  const relevances = new Map(
    [...namedRows.ids.keys()].map((row) => [row, heldWeight(remainder, weights, wordsOf(row))]),
  )
  const order = (limit: number): readonly number[] =>
    namedOrder(namedRows.ids, (row) => relevances.get(row) ?? 0, limit)
  const isAmbiguous = isOfSeveralDocuments(namedRows.ids, columns.documents)
  return {
    order,
    figures(listed, { byWords, rows: round, scores }) {
      if (isAmbiguous || !listed.some((row) => namedRows.ids.has(row))) return undefined
      const rows = order(NAMED_PASSAGES_MAX).slice(0, NAMED_PASSAGES_MAX)
      const passages = rows.map((row) => {
        const { heading, text, metadata } = passage(row)
        return { text: { language: metadata.language, heading, text }, words: wordsOf(row).slice() }
      })
      const documents = new Set([...namedRows.ids.keys()].map((row) => columns.documents[row]))
      const others = [...byWords].filter((row) => !namedRows.ids.has(row) && documents.has(columns.documents[row]))
      const { alone, ...coverage } = namedCoverage(
        remainder,
        passages,
        others.map((row) => wordsOf(row).slice()),
      )
      return { ...coverage, margin: alone ? 0 : marginOf(namedRows.ids, round, scores) }
    },
  }
}

/** Whether a reference without an act matches several documents, shown or not. */
function isOfSeveralDocuments(namedRows: NamedRows['ids'], documents: Uint32Array): boolean {
  const found = new Map<number, number | undefined>()
  for (const [row, { reference, withoutAct }] of namedRows) {
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

function marginOf(namedRows: NamedRows['ids'], rows: Uint32Array, scores: Float64Array = new Float64Array(0)): number {
  let [named, other] = [-Infinity, -Infinity]
  for (const [at, score] of scores.entries()) {
    if (namedRows.has(rows[at] ?? -1)) named = Math.max(named, score)
    else other = Math.max(other, score)
  }
  return Number.isFinite(named - other) ? Math.min(0, named - other) : 0
}
