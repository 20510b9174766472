import type { NamedRows, Question, VersionStatistics, QuestionWord } from './interfaces.ts'
import { isFunctionWord } from '#core/index/analysis/analyzer.ts'
import { isRequestWord, measureOf, statesMeasure, type Measure } from '#core/index/analysis/request-words.ts'
import { words as foldedWords } from '#core/index/analysis/words.ts'
import { resemblancesIn, type PassageText, type RowWords } from './predictor-words.ts'
import { indexIn } from '#core/index/hash-table.ts'

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

/** What a question asks about the provisions that it names. @param languages BCP 47 codes that may be found. */
export function createNamedProvisions(
  { question, tokens, passage, columns }: VersionStatistics,
  namedRows: NamedRows,
  languages: readonly string[],
) {
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
    /** All named rows in the order of a reply of `limit` passages. */
    order,
    /**
     * Compares the passages that a reply shows first. Undefined if the list holds no passage of a named provision, or if
     * the provision may be of several acts.
     * @param listed rows of the list.
     */
    figures(listed: readonly number[], { byWords, rows: round, scores }: RoundCandidates): NamedFigures | undefined {
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

/** Rare words count alike: a name that few passages have must not outweigh the topic. */
const IDF_MAX = 6
/** Weight of a word that the version lacks, in a version of any size: no passage of it can say what is asked. */
const ABSENT_WEIGHT = 7
/** A measure that is asked for and not stated decides: a provision without any fine answers no question about one. */
const MISSING_MEASURE_WEIGHT = 20
/** Dice coefficient from which a similar spelling counts, in part. */
const RESEMBLANCE_MIN = 0.5

interface NamedPassage {
  readonly text: PassageText
  readonly words: RowWords
}

/**
 * What passages of a named provision hold of what a question asks about it. A word weighs its idf, at most 6, or 7 if
 * the version lacks it.
 */
export interface NamedCoverage {
  /** The question asks for the provision itself. */
  readonly alone: boolean
  /** Weight that they lack; a measure that is asked for and not stated weighs 20. */
  readonly missing: number
  /** Share, at least 0, that one of the other texts holds beyond theirs. A measure weighs like any word here. */
  readonly elsewhere: number
}

/**
 * Compares what a question asks about a provision with the provision's passages. Words that only ask are left out, and
 * function words of the passages' languages, even where another language of the version has the word. A question that
 * holds no other word asks for the provision itself.
 * @param remainder the question without its references. @param others the words of other texts of the same document.
 */
export function namedCoverage(
  remainder: Question,
  passages: readonly NamedPassage[],
  others: readonly RowWords[],
): NamedCoverage {
  const texts = passages.map(({ text: { heading, text } }) => `${heading}\n${text}`)
  const asked = askedWords(remainder, passages, texts)
  const total = sumOf(asked, ({ weight }) => weight)
  if (total === 0) return { alone: true, missing: 0, elsewhere: 0 }
  const held = sumOf(asked, ({ weight, held: share }) => weight * share)
  const all = total + sumOf(asked, ({ weight, lacksMeasure }) => (lacksMeasure ? MISSING_MEASURE_WEIGHT - weight : 0))
  const weights = new Float64Array(remainder.words.length)
  for (const { index, weight } of asked) weights[index] = weight
  const best = others.reduce((most, words) => Math.max(most, heldWeight(remainder, weights, words)), 0)
  return { alone: false, missing: all - held, elsewhere: Math.max(0, best - held) / total }
}

/** Sum of the weights of a question's words that a text holds. @param weights by index in the question. */
function heldWeight(question: Question, weights: Float64Array, words: RowWords): number {
  const seen = new Set<number>()
  for (const hash of words) {
    const index = indexIn(question.wordTable, hash)
    if (index !== -1) seen.add(index)
  }
  return sumOf([...seen], (index) => weights[index] ?? 0)
}

/** A word of a question that names a topic. */
interface AskedWord {
  readonly index: number
  readonly weight: number
  /** Share of the word that the passages hold, in [0, 1]. */
  readonly held: number
  /** The word asks for a measure that the passages do not state. */
  readonly lacksMeasure: boolean
}

function askedWords(
  remainder: Question,
  passages: readonly NamedPassage[],
  texts: readonly string[],
): readonly AskedWord[] {
  const said = resemblancesOf(remainder, passages)
  let present: ReadonlySet<string> | undefined
  const statesOf = (measure: Measure): boolean => {
    const words = (present ??= new Set(texts.flatMap((text) => foldedWords(text))))
    return texts.some((text) => statesMeasure(measure, text, words))
  }
  return remainder.words.flatMap((asked, index) => {
    const resemblance = said.get(index)
    if (resemblance === undefined || !namesTopic(asked)) return []
    const weight = asked.frequency === 0 ? ABSENT_WEIGHT : Math.min(asked.idf, IDF_MAX)
    const isHeld = resemblance >= RESEMBLANCE_MIN
    const measure = resemblance === 1 ? undefined : measureOf(asked.word)
    if (measure === undefined) return [{ index, weight, held: isHeld ? resemblance : 0, lacksMeasure: false }]
    const lacksMeasure = !statesOf(measure)
    return [{ index, weight, held: Number(!lacksMeasure), lacksMeasure }]
  })
}

function sumOf<Item>(items: readonly Item[], valueOf: (item: Item) => number): number {
  return items.reduce((sum, item) => sum + valueOf(item), 0)
}

/** Words that only ask name no topic, nor does a function word that no passage of the version holds. */
function namesTopic({ word, frequency }: QuestionWord): boolean {
  return !isRequestWord(word) && (frequency > 0 || !isFunctionWord(word))
}

/** The best resemblance of each word in any of the passages, by index; none for function words of their languages. */
function resemblancesOf(remainder: Question, passages: readonly NamedPassage[]): ReadonlyMap<number, number> {
  const best = new Map<number, number>()
  for (const { text, words } of passages) {
    for (const [index, resemblance] of resemblancesIn(remainder, text, words))
      best.set(index, Math.max(best.get(index) ?? 0, resemblance))
  }
  return best
}

/** Below one half: the best score of a row that is not named stays below the lowest score of a named row. */
const BELOW_NAMED = 0.499

/**
 * Returns scores that rank every named row above every other row, in the given order. The other rows keep their order.
 * @param rows candidates, including the named rows. @param scores at most 1.
 * @param order all named rows; see `namedOrder`.
 */
export function boostNamed(rows: Uint32Array, scores: Float64Array, order: readonly number[]): Float64Array {
  if (order.length === 0) return scores
  const ranks = new Map(order.map((row, rank) => [row, rank]))
  return scores.map((score, at) => {
    const rank = ranks.get(rows[at] ?? 0)
    return rank === undefined ? Math.max(0, score) * BELOW_NAMED : 1 - rank / (2 * order.length)
  })
}

interface NamedRow {
  readonly row: number
  readonly reference: number
}

/** Several references share the first so many passages of any list: a re-ranker's list is longer than the reply. */
const SHARED_FIRST = 5

/**
 * NamedBy rows in the order of a reply: by reference, the provision itself before its parts, each in the order of the
 * document. Each of several references has an equal share of the first passages and of the list. Where a provision has
 * more passages than its share, its opening and those that hold most of what is asked come first, in the order of the
 * document.
 * @param relevance what a row holds of what the question asks. @param limit passages wanted.
 */
export function namedOrder(
  named: NamedRows['ids'],
  relevance: (row: number) => number,
  limit: number,
): readonly number[] {
  const ordered = [...named]
    .map(([row, { reference, nearness }]) => ({ row, reference, nearness }))
    .sort((a, b) => a.reference - b.reference || a.nearness - b.nearness || a.row - b.row)
  const references = Map.groupBy(ordered, ({ reference }) => reference)
  const sizes = references.size > 1 ? [Math.min(limit, SHARED_FIRST), limit] : [limit]
  const rest = new Set(ordered.map(({ row }) => row))
  return [...sizes, Infinity].flatMap((size) => {
    const share = Math.max(1, Math.floor(size / references.size))
    const chosen = new Set([...references.values()].flatMap((rows) => firstShare(rows, relevance, share)))
    return [...rest].filter((row) => chosen.has(row) && rest.delete(row))
  })
}

/** The opening, and the rows that hold most of what is asked. */
function firstShare(rows: readonly NamedRow[], relevance: (row: number) => number, share: number): readonly number[] {
  const [opening, ...others] = rows.map(({ row }, rank) => ({ row, rank, relevance: relevance(row) }))
  if (opening === undefined) return []
  const best = others.toSorted((a, b) => b.relevance - a.relevance || a.rank - b.rank)
  return [opening, ...best].slice(0, share).map(({ row }) => row)
}
