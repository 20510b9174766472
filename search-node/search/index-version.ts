import { analyzeQuestion, primaryLanguage, type AnalyzedQuestion } from '#core/index/analysis/analyzer.ts'
import { indexWords } from '#core/index/analysis/index-words.ts'
import { dayNumber } from '#core/index/facets/layout.ts'
import { countRows, forEachRow, hasRow, removeRow } from '#core/index/bitset.ts'
import { ngramQuestion } from '#core/index/ngrams/coverage.ts'
import { isInForce, type FacetsReader } from '#core/index/facets/reader.ts'
import type { IndexReader } from '#core/index/format/reader.ts'
import { createActAliases, type ActAliases } from '#law/citations/parser.ts'
import { isTaught } from '#law/citations/lexer/languages.ts'
import { createScopeFilter, union, type ScopeFilter, type FilterBitset } from './candidates/filter-bitset.ts'
import { createEngineSource, type EngineSourceDependencies } from './candidates/engine/source.ts'
import type { SearchScope, RowSet, SearchableVersion, CandidateSource } from './interfaces.ts'
import { withoutReferences, resolveReferences } from './candidates/references/resolve.ts'
import { compareExpansions, type ComparedExpansions } from './candidates/query-expansions/search.ts'
import { prepareLexical, SCORE_UNIT, type LexicalQuery } from './candidates/words/query.ts'
import { questionOf } from './question.ts'
import { createVectorScores } from './fuse.ts'
import { SEARCH_NODE_BOUNDS } from '#search-node/bounds.ts'
import { assertNotExpired } from '#search-node/node-error.ts'
import { nearestRows } from './candidates/vectors/search.ts'
import { searchLexical } from './candidates/words/search.ts'

/** State that all searches of an index share. */
export type SearchShared = ReturnType<typeof createSearchShared>

/** A version's index in a cluster, and a client of it. */
export type EngineOfVersion = Pick<EngineSourceDependencies, 'client' | 'engine'>

export function createSearchShared(index: IndexReader, engine?: EngineOfVersion) {
  return {
    /** Where candidates come from; undefined: from the index itself. */
    engine,
    aliases: createActAliases(index.references.actNames, { ...index.facets.facets, designators: taughtWords(index) }),
    filter: createScopeFilter(index),
    hasCompounds: compoundRows(index.facets, index.passages),
    vectorScores: index.vectors && createVectorScores(index.vectors.cosines),
  }
}

/**
 * Creates what one search sees of a version. Statistics come from the index that a scoring thread has open, and so do
 * candidates unless the version has an engine. It remembers what the search looked up and is dropped with it. Maps with
 * weak keys would do so for all searches, but V8 frees their values only with the rarer collections of old objects.
 */
export function createIndexVersion(
  index: IndexReader,
  { aliases, filter, hasCompounds, vectorScores, engine }: SearchShared = createSearchShared(index),
): SearchableVersion {
  const lexicalQuery = memoized((asked: AnalyzedQuestion) => prepareLexical(index.lexical, asked.words))
  const { queryExpansions } = index
  const comparedExpansions = queryExpansions && memoized((text: string) => compareExpansions(queryExpansions, text))
  const ofScope = memoized((scope: SearchScope) => filter.ofScope(scope))
  const dependencies = { index, aliases, filter: { ofFilters: filter.ofFilters, ofScope }, lexicalQuery }
  const passage = memoized((row: number) => index.passage(row))
  const local = createIndexSource({ ...dependencies, comparedExpansions })
  return {
    candidates: engine === undefined ? local : createEngineSource({ ...dependencies, ...engine, local }),
    statistics: {
      passages: index.passages,
      columns: index.rows,
      tokens: index.forward,
      question(text, languages) {
        const held = languages.filter((language) => index.facets.facets.languages.includes(language))
        // The version's languages, not the filter's: the idf of a word does not depend on the request.
        const asked = analyzeQuestion(text, index.lexical.description.languages)
        const { groups } = lexicalQuery(asked)
        return questionOf(asked, [...new Set(held.map(primaryLanguage))], groups, index.forward)
      },
      withoutReferences: (text) => withoutReferences(text, aliases),
      rowsInScope(scope) {
        const { bits, count } = ofScope(scope)
        return { count, has: (row) => hasRow(bits, row), narrowed: (keep) => narrowed(bits, keep) }
      },
      inForceOn(day) {
        const number = dayNumber(day)
        return (row) => isInForce(index.facets, row, number)
      },
      cosines: (rows, vector) => index.vectors?.exact.cosines(rows, vector) ?? new Float64Array(rows.length),
      vectorScores,
      queryExpansionShares: (text, rows) => comparedExpansions?.(text).shares(rows),
      ngrams: memoized((text: string) => ngramQuestion(indexWords(text), index.ngrams)),
      rowNgrams: index.ngrams.ofRow,
      hasCompounds,
      background: index.ngrams.background,
      passage,
    },
  }
}

function memoized<Key, Value>(make: (key: Key) => Value): (key: Key) => Value {
  const known = new Map<Key, Value>()
  return (key) => {
    const value = known.get(key) ?? make(key)
    known.set(key, value)
    return value
  }
}

function narrowed(bits: Uint32Array, keep: (row: number) => boolean): ReturnType<RowSet['narrowed']> {
  const kept = bits.slice()
  forEachRow(bits, (row) => {
    if (!keep(row)) removeRow(kept, row)
  })
  return { count: countRows(kept), rows: new Uint8Array(kept.buffer) }
}

/** Primary subtags of languages that write a compound as one word, so that a passage may hold its parts. */
const COMPOUNDING: ReadonlySet<string> = new Set(['da', 'de', 'fi', 'hu', 'is', 'nb', 'nl', 'nn', 'no', 'sv'])

/**
 * Finds the rows whose language writes compounds; it reads the facets once.
 * @returns undefined where no language of the version does.
 */
function compoundRows(reader: FacetsReader, passages: number): ((row: number) => boolean) | undefined {
  const { languages } = reader.facets
  const compounding = languages.filter((language) => COMPOUNDING.has(primaryLanguage(language)))
  if (compounding.length === 0) return undefined
  const bits = union(compounding, languages, 0, passages, reader)
  return (row) => hasRow(bits, row)
}

/** Words for provisions in labels of languages without a table; nothing is read where the version has none. */
function taughtWords({ references, facets, passages }: IndexReader): readonly string[] {
  const { languages } = facets.facets
  const taught = languages.filter(isTaught)
  if (taught.length === 0) return []
  const rows = union(taught, languages, 0, passages, facets)
  return references.wordsOf((row) => hasRow(rows, row), SEARCH_NODE_BOUNDS.taughtWordsMax)
}

interface IndexSourceDependencies {
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
function createIndexSource(deps: IndexSourceDependencies): CandidateSource {
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
