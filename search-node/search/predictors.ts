import { PREDICTORS, type Predictor } from '#core/domain/predictors.ts'
import { COVERING_PASSAGES, type Coverage } from '#core/index/ngrams/coverage.ts'
import type { NamedFigures } from './named-provision.ts'
import { firstCoverage, nearPairs, type RowWords } from './predictor-words.ts'
import type { RankingText, TokenStatistics } from './interfaces.ts'

/** Candidates of one ranking, best first. */
export interface RankedRows {
  readonly rows: Uint32Array
  readonly scores: Float64Array
}

export interface PredictorInput {
  /** At least one; the first found the candidates. */
  readonly texts: readonly RankingText[]
  /** Distinct words of the question, function words included. */
  readonly questionWords: number
  /** Rows of the version. */
  readonly passages: number
  readonly forward: TokenStatistics
  /**
   * What rows hold of a text above the background. @param words shares of its words that the rows hold. @param
   * documentShare of the candidates.
   */
  readonly coverage: (text: string, words: readonly number[], rows: Uint32Array, documentShare: number) => Coverage
  /** Scores in [0, 1]. */
  readonly lexical: RankedRows
  /** See `createVectorScores`; empty without a dense ranking. */
  readonly dense: RankedRows
  readonly documents: Uint32Array
  /** How the provision that the question names compares with what it asks; undefined: it names none. */
  readonly named: NamedFigures | undefined
  /** Value of `search_questions_only`; absent: 0. */
  readonly queryExpansionsOnly?: number
}

/** Value of a predictor if the question or the list leaves nothing to measure. */
const NEUTRAL = 0.5
/**
 * Softmax temperatures of the document weights, for words and for vectors: a candidate that scores this much less
 * weighs a factor e less.
 */
const LEXICAL_TEMPERATURE = 1 / 30
const VECTOR_TEMPERATURE = 0.027
const NO_ROWS = new Uint32Array(0)

/**
 * The query performance predictors of a list, in the order of `PREDICTORS`. Those of the words of passages are 0 if no
 * passage shares a word with the question.
 */
export function predictorsOf(input: PredictorInput): number[] {
  const { named, dense, lexical, queryExpansionsOnly } = input
  const { documentShare, document_agreement } = documentFigures(input)
  const sharesWords = lexical.rows.length > 0
  const figures: PredictorFigures = {
    ...(sharesWords || dense.rows.length > 0 ? { document_agreement } : {}),
    ...questionFigures(input),
    ...(sharesWords ? wordFigures(input, documentShare) : meanCoverage(input, [], NO_ROWS, 0)),
    named: named === undefined ? 0 : 1,
    named_missing: named?.missing ?? 0,
    named_elsewhere: named?.elsewhere ?? 0,
    named_margin: named?.margin ?? 0,
    nearest_vector: dense.scores[0] ?? 0,
    search_questions_only: queryExpansionsOnly ?? 0,
  }
  return PREDICTORS.map((name) => figures[name] ?? 0)
}

type PredictorFigures = Readonly<Partial<Record<Predictor, number>>>

/** They do not depend on what is found, so that finding nothing does not change them. */
function questionFigures({ texts: [first], questionWords, passages }: PredictorInput): PredictorFigures {
  const scale = Math.log(passages + 1)
  const idfs = (first?.question.words ?? []).map(({ idf }) => idf)
  const mean = meanOf(idfs)
  return {
    content_share: Math.min(1, idfs.length / Math.max(1, questionWords)),
    mean_idf: mean / scale,
    idf_deviation: Math.sqrt(meanOf(idfs.map((idf) => (idf - mean) ** 2))) / scale,
  }
}

function wordFigures(input: PredictorInput, documentShare: number | undefined): PredictorFigures {
  const { texts, forward, lexical } = input
  const best = Array.from(lexical.rows.subarray(0, COVERING_PASSAGES), (row) =>
    forward.read(row, row).words(row).slice(),
  )
  const [words = new Uint32Array(0)] = best
  const covered = meanCoverage(input, best, lexical.rows.subarray(0, COVERING_PASSAGES), documentShare ?? 0)
  const question = texts[0]?.question
  if (question === undefined) return covered
  return {
    near_pairs: nearPairs(question, best) ?? NEUTRAL,
    first_length: Math.log(1 + words.length),
    first_coverage: firstCoverage(question, words),
    ...covered,
    document_share: documentShare === undefined ? 0 : covered.document_share,
  }
}

/** What the first passages hold of the texts, on average. @param best words of these passages. */
function meanCoverage(
  { texts, coverage }: PredictorInput,
  best: readonly RowWords[],
  rows: Uint32Array,
  documentShare: number,
): Coverage {
  const each = texts.map(({ text, question }) =>
    coverage(
      text,
      best.map((words) => firstCoverage(question, words)),
      rows,
      documentShare,
    ),
  )
  const mean = (name: keyof Coverage): number => meanOf(each.map((covered) => covered[name]))
  return {
    words_best: mean('words_best'),
    grams_best: mean('grams_best'),
    grams_mass: mean('grams_mass'),
    document_share: mean('document_share'),
  }
}

function meanOf(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length
}

/** If all candidates lie in one document, there is no share, and the agreement is neutral. */
function documentFigures({ lexical, dense, documents }: PredictorInput): {
  readonly documentShare: number | undefined
  readonly document_agreement: number
} {
  const ofRow = (row: number): number => documents[row] ?? 0
  const first = ofRow(lexical.rows[0] ?? 0)
  const isFirst = (row: number): boolean => ofRow(row) === first
  if (lexical.rows.every(isFirst) && dense.rows.every(isFirst))
    return { documentShare: undefined, document_agreement: NEUTRAL }
  const byWords = documentWeights(lexical, ofRow, LEXICAL_TEMPERATURE)
  const byVectors = documentWeights(dense, ofRow, VECTOR_TEMPERATURE)
  let agreement = 0
  for (const [document, weight] of byWords) agreement = Math.max(agreement, weight + (byVectors.get(document) ?? 0))
  for (const [document, weight] of byVectors) agreement = Math.max(agreement, weight + (byWords.get(document) ?? 0))
  return {
    documentShare: lexical.rows.reduce((count, row) => count + Number(ofRow(row) === first), 0) / lexical.rows.length,
    document_agreement: agreement / 2,
  }
}

/** Softmax of the scores, summed by document. */
function documentWeights(
  { rows, scores }: RankedRows,
  ofRow: (row: number) => number,
  temperature: number,
): Map<number, number> {
  const best = scores[0] ?? 0
  const weights = new Float64Array(rows.length)
  let total = 0
  for (let at = 0; at < rows.length; at++) {
    const weight = Math.exp(((scores[at] ?? 0) - best) / temperature)
    weights[at] = weight
    total += weight
  }
  const byDocument = new Map<number, number>()
  for (let at = 0; at < rows.length; at++) {
    const document = ofRow(rows[at] ?? 0)
    byDocument.set(document, (byDocument.get(document) ?? 0) + (weights[at] ?? 0) / total)
  }
  return byDocument
}
