import type { AnalyzedQuestion } from '#core/index/analysis/analyzer.ts'
import type { IndexReader } from '#core/index/format/reader.ts'
import { assertInTime } from '#search-node/call-limits.ts'
import { hasRow } from '#core/platform/bitset.ts'
import type { Ranked } from '#core/platform/top-k.ts'
import type { Question } from '#search-node/search/question.ts'
import type { FilterBitset, ScopeFilter } from './filter-bitset.ts'
import { resolveReferences } from './references/resolve.ts'
import { VECTOR_CANDIDATES_MIN } from './source.ts'
import type { CandidateSource, SearchScope } from './source.ts'
import { nearestRows } from './vectors/search.ts'
import type { LexicalQuery } from './words/query.ts'
import { SCORE_UNIT } from './words/query.ts'
import { searchLexical } from './words/search.ts'
import { createWordRows } from './word-rows.ts'

export interface IndexSourceDependencies {
  readonly index: IndexReader
  readonly filter: Pick<ScopeFilter, 'of' | 'within'>
  readonly lexicalQuery: (asked: AnalyzedQuestion) => LexicalQuery
  /** See `createWordRows`. */
  readonly scanNsCheap?: number | undefined
}

interface WordList {
  readonly question: Question
  readonly depth: number
  readonly ranked: Ranked
}

/**
 * Finds the candidates of one search in the index that a scoring thread has open, restricted by filter bitsets. Each
 * query runs synchronously; the limits are checked before it starts.
 */
export function createIndexSource({
  index,
  filter,
  lexicalQuery,
  scanNsCheap,
}: IndexSourceDependencies): CandidateSource {
  const wordRows = createWordRows(index, scanNsCheap)
  /** The longest list by words of each scope. */
  const wordLists = new Map<SearchScope, WordList>()
  function byWords(question: Question, scope: SearchScope, depth: number): Ranked {
    const known = wordLists.get(scope)
    const { ids, scores } = known?.question === question && known.depth >= depth ? known.ranked : rank()
    return { ids: ids.subarray(0, depth), scores: scores.subarray(0, depth) }

    function rank(): Ranked {
      const { bits } = filter.within(scope)
      const ranked = searchLexical(lexicalQuery(question.asked), bits, depth, index.rows.chunkRanks)
      wordLists.set(scope, { question, depth, ranked })
      return ranked
    }
  }
  return {
    async byWords({ question, scope, depth }, limits) {
      assertInTime(limits)
      const { ids, scores } = byWords(question, scope, depth)
      return { ids, scores: scores.map((score) => score * SCORE_UNIT) }
    },
    async byVector({ vector, question, scope, depth, rowsScoredMin }, limits) {
      assertInTime(limits)
      const wanted = Math.max(depth, VECTOR_CANDIDATES_MIN)
      const allowed = filter.within(scope)
      const ofWords =
        question && wordRows.nearest(vector, allowed, wanted, (rows) => byWords(question, scope, rows).ids)
      return ofWords ?? nearestRows(index, vector, allowed, wanted, rowsScoredMin)
    },
    async byReference({ text, scope, entitled }, limits) {
      assertInTime(limits)
      const allowed = filter.within(scope)
      // Computed only if the question names a provision, and at most once.
      let held: FilterBitset | undefined
      return resolveReferences(text, index.references, {
        allowed: (row) => hasRow(allowed.bits, row),
        entitled: (row) => hasRow((held ??= filter.of(entitled)).bits, row),
        text: (row) => index.passage(row).text,
        document: (row) => index.rows.documents[row] ?? -1,
      })
    },
  }
}
