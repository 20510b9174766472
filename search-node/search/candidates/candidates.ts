import { analyzeQuestion, primaryLanguage } from '#core/index/analysis/analyzer.ts'
import type { FilterBitset } from '#search-node/search/filter-bitset.ts'
import { cosines, denseRows } from './vectors/search.ts'
import { PREDICTOR_DEPTH } from '#search-node/search/predictors.ts'
import { prepareLexical } from './words/query.ts'
import { searchLexical } from './words/search.ts'
import type { IndexReader } from '#core/index/format/reader.ts'
import { questionOf } from '#search-node/search/question.ts'
import type { Question } from '#search-node/search/question.ts'

/**
 * Candidates at least: looking closely at more than 50 by words changes no figure by more than 0.003 (decision 0008).
 */
const WORD_CANDIDATES = PREDICTOR_DEPTH
const VECTOR_CANDIDATES = 20

export interface WordCandidates {
  readonly question: Question
  /** Best first, by words alone. */
  readonly rows: Uint32Array
}

export interface VectorCandidates {
  readonly plan: string
  /** Unit length. */
  readonly query: Float32Array
  /** Ascending. */
  readonly rows: Uint32Array
  /** Cosines of these. */
  readonly scores: Float64Array
}

/** @param languages BCP 47 tags that may be found. @param depth candidates wanted; there may be more. */
export function wordCandidates(
  { lexical, forward, facets }: IndexReader,
  { text, languages }: { readonly text: string; readonly languages: readonly string[] },
  { bits }: FilterBitset,
  depth: number,
): WordCandidates {
  const held = languages.filter((language) => facets.facets.languages.includes(language))
  // The version's languages, not the filter's: how rare a word is does not depend on who asks.
  const asked = analyzeQuestion(text, lexical.description.languages)
  const query = prepareLexical(lexical, asked.words)
  const question = questionOf(asked, [...new Set(held.map(primaryLanguage))], query, forward)
  return { question, rows: searchLexical(query, bits, Math.max(depth, WORD_CANDIDATES)).rows }
}

/** @param expansion rows to score at least. @param depth candidates wanted; there may be more. */
export function vectorCandidates(
  mapping: IndexReader,
  { vector, expansion }: { readonly vector: Float32Array; readonly expansion: number },
  allowed: FilterBitset,
  depth: number,
): VectorCandidates {
  const query = unit(vector)
  const { plan, rows } = denseRows(mapping, query, allowed, Math.max(depth, VECTOR_CANDIDATES), expansion)
  const ascending = Uint32Array.from(rows).sort()
  return { plan, query, rows: ascending, scores: cosines(mapping.vectors, ascending, query) }
}

/**
 * Cosines of all candidates; those that the vectors found are known. @param rows ascending, what the vectors found
 * among them.
 */
export function cosinesOf(
  { vectors }: IndexReader,
  rows: Uint32Array,
  { query, rows: near, scores }: VectorCandidates,
): Float64Array {
  let next = 0
  const others = rows.filter((row) => {
    while ((near[next] ?? Infinity) < row) next += 1
    return near[next] !== row
  })
  const ofOthers = cosines(vectors, others, query)
  let [known, other] = [0, 0]
  return Float64Array.from(rows, (row) => (near[known] === row ? scores[known++] : ofOthers[other++]) ?? 0)
}

function unit(vector: Float32Array): Float32Array {
  let squares = 0
  for (const value of vector) squares += value * value
  const scale = 1 / Math.sqrt(squares)
  return vector.map((value) => value * scale)
}
