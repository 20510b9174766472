import type { AnalyzedQuestion } from '#core/index/analysis/analyzer.ts'
import type { IndexReader } from '#core/index/format/reader.ts'
import { SEARCH_NODE_BOUNDS } from '#search-node/bounds.ts'
import { assertNotExpired } from '#search-node/call-deadline.ts'
import type { ActAliases } from '#law/citations/parser.ts'
import { hasRow } from '#core/index/bitset.ts'
import type { FilterBitset, ScopeFilter } from './filter-bitset.ts'
import { resolveReferences } from './references/resolve.ts'
import type { ComparedExpansions } from './query-expansions/search.ts'
import type { CandidateSource } from '#search-node/search/interfaces.ts'
import { nearestRows } from './vectors/search.ts'
import { SCORE_UNIT, type LexicalQuery } from './words/query.ts'
import { searchLexical } from './words/search.ts'

export interface IndexSourceDependencies {
  readonly index: IndexReader
  /** What acts of the version are called in questions. */
  readonly aliases: ActAliases
  readonly filter: Pick<ScopeFilter, 'ofFilters' | 'ofScope'>
  readonly lexicalQuery: (asked: AnalyzedQuestion) => LexicalQuery
  /** Undefined: the version has no query expansions. */
  readonly comparedExpansions: ((text: string) => ComparedExpansions) | undefined
}

/**
 * Finds the candidates of one search in the index that a scoring thread has open, restricted by filter bitsets. Each
 * query runs synchronously; the deadline is checked before it starts.
 */
export function createIndexSource(deps: IndexSourceDependencies): CandidateSource {
  const { index, aliases, filter, lexicalQuery, comparedExpansions } = deps
  return {
    async byWords({ question, scope, depth }, deadline) {
      assertNotExpired(deadline)
      const { bits } = filter.ofScope(scope)
      const { ids, scores } = searchLexical(lexicalQuery(question.asked), bits, depth, index.rows.chunkRanks)
      return { ids, scores: scores.map((score) => score * SCORE_UNIT) }
    },
    async byVector({ vector, scope, depth, rowsScoredMin }, deadline) {
      assertNotExpired(deadline)
      if (index.vectors === undefined) return { plan: 'none', ids: new Uint32Array(), scores: new Float64Array() }
      const wanted = Math.max(depth, SEARCH_NODE_BOUNDS.vectorCandidatesMin)
      return nearestRows(index, index.vectors, vector, filter.ofScope(scope), wanted, rowsScoredMin)
    },
    async byQueryExpansions({ text, scope, depth }, deadline) {
      assertNotExpired(deadline)
      return comparedExpansions?.(text).best(filter.ofScope(scope).bits, depth)
    },
    async byReference({ text, scope, entitled }, deadline) {
      assertNotExpired(deadline)
      const allowed = filter.ofScope(scope)
      // Computed only if the question names a provision, and at most once.
      let held: FilterBitset | undefined
      return resolveReferences(text, index.references, aliases, {
        allowed: (row) => hasRow(allowed.bits, row),
        withdrawn: (row) => allowed.withdrawn !== undefined && hasRow(allowed.withdrawn, row),
        entitled: (row) => hasRow((held ??= filter.ofFilters(entitled)).bits, row),
        text: (row) => index.passage(row).text,
        document: (row) => index.rows.documents[row] ?? -1,
      })
    },
  }
}
