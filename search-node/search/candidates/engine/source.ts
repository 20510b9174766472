import { ENGINE_BOUNDS } from '#core/engine/bounds.ts'
import { EngineError, type EngineClient } from '#core/engine/client.ts'
import { exactBody, nearestBody, searchIndex, wordsBody } from '#core/engine/query.ts'
import type { EngineHit, WeightedTerm, EngineScope } from '#core/engine/query.ts'
import { ArtifactError } from '#core/index/artifact-error.ts'
import { hasRow } from '#core/index/bitset.ts'
import type { EngineDescription } from '#core/index/engine/description.ts'
import type { IndexReader } from '#core/index/format/reader.ts'
import type { AnalyzedQuestion } from '#core/index/analysis/analyzer.ts'
import { SEARCH_NODE_BOUNDS } from '#search-node/bounds.ts'
import { NodeError, assertNotExpired, type CallDeadline } from '#search-node/node-error.ts'
import type { CandidateSource, ScoredCandidates, Question, SearchScope } from '#search-node/search/interfaces.ts'
import { bestOf } from '#search-node/search/candidates/vectors/search.ts'
import { SCORE_UNIT, type LexicalQuery } from '#search-node/search/candidates/words/query.ts'
import { listRows, type FilterBitset, type ScopeFilter } from '#search-node/search/candidates/filter-bitset.ts'

export interface EngineSourceDependencies {
  readonly client: EngineClient
  readonly engine: EngineDescription
  readonly index: Pick<IndexReader, 'passages' | 'passageDigest' | 'rows' | 'vectors'>
  readonly filter: Pick<ScopeFilter, 'ofFilters' | 'ofScope'>
  readonly lexicalQuery: (asked: AnalyzedQuestion) => LexicalQuery
  /** Answers what the engine does not. */
  readonly local: CandidateSource
}

/** The engine gives so many times the candidates that are kept: those that it nearly missed are ranked exactly. */
const NEAREST_FACTOR = 2
const NEAREST_MIN = 100

/**
 * Asks the engine for the best rows by words and the nearest ones. The thread waits meanwhile. Every row is checked
 * against the scope's bitset and the signed digest of its passage, and cosines are computed from the version's own
 * vectors, so no score of the engine is evidence.
 * @throws NodeError UNAVAILABLE if the engine does not answer whole and in time. ArtifactError if it names a row that
 * is outside of the scope, or of another passage.
 */
export function createEngineSource(deps: EngineSourceDependencies): CandidateSource {
  const { client, engine, index, filter, lexicalQuery, local } = deps
  const ask = (body: object, deadline: CallDeadline): Promise<readonly EngineHit[]> =>
    askWithin(client, engine, body, deadline)
  const rowsOf = (hits: readonly EngineHit[], allowed: FilterBitset): Uint32Array => checkedRows(index, hits, allowed)
  return {
    ...local,
    async byWords({ question, scope, depth }, deadline) {
      const allowed = filter.ofScope(scope)
      const terms = weightedTerms(question, lexicalQuery(question.asked))
      if (allowed.count === 0 || terms.length === 0) return NO_CANDIDATES
      const hits = await ask(wordsBody(terms, engineScope(filter, scope, allowed), depth), deadline)
      return { ids: rowsOf(hits, allowed), scores: Float64Array.from(hits, ({ score }) => score * SCORE_UNIT) }
    },
    async byVector({ vector, scope, depth }, deadline) {
      const { vectors } = index
      const allowed = filter.ofScope(scope)
      if (vectors === undefined) return { plan: 'none', ...NO_CANDIDATES }
      const kept = Math.max(depth, SEARCH_NODE_BOUNDS.vectorCandidatesMin, SEARCH_NODE_BOUNDS.predictorCandidatesMax)
      const wanted = Math.min(allowed.count, ENGINE_BOUNDS.hitsMax, Math.max(NEAREST_MIN, kept * NEAREST_FACTOR))
      if (wanted === 0) return { plan: 'engine', ...NO_CANDIDATES }
      const engineRows = engineScope(filter, scope, allowed)
      const near = await ask(nearestBody(vector, engineRows, wanted), deadline)
      // A graph may lead to too few rows of a narrow filter.
      const hits = near.length < wanted ? await ask(exactBody(vector, engineRows, wanted), deadline) : near
      if (hits.length < wanted)
        throw new ArtifactError(`The index ${engine.index} lacks passages of the version; build the version again.`)
      const ids = rowsOf(hits, allowed).sort()
      return { plan: 'engine', ...bestOf(index, { ids, scores: vectors.exact.cosines(ids, vector) }, kept) }
    },
  }
}

const NO_CANDIDATES: ScoredCandidates = { ids: new Uint32Array(), scores: new Float64Array() }

/** The terms of a question's words in every language, with the weight that the version's statistics give each word. */
function weightedTerms({ words }: Question, { groups }: LexicalQuery): readonly WeightedTerm[] {
  const hashesOf = new Map(words.map(({ word, hashes }) => [word, hashes]))
  return groups.flatMap(({ word, frequency, weight }) =>
    frequency === 0 ? [] : (hashesOf.get(word) ?? []).map((hash) => ({ hash, weight })),
  )
}

async function askWithin(
  client: EngineClient,
  engine: EngineDescription,
  body: object,
  deadline: CallDeadline,
): Promise<readonly EngineHit[]> {
  assertNotExpired(deadline)
  const leftMs = Math.max(1, Math.floor(deadline.deadlineMs - Date.now()))
  try {
    return await searchIndex(client, engine, body, Math.min(ENGINE_BOUNDS.engineSearchTimeoutMs, leftMs))
  } catch (error) {
    if (!(error instanceof EngineError)) throw error
    if (error.fault === 'missing')
      throw new ArtifactError(`The index ${engine.index} is missing; build the version again.`)
    throw new NodeError('UNAVAILABLE', error.message, { cause: error })
  }
}

/** @throws ArtifactError if a hit is no passage of the scope, or named twice. */
function checkedRows(
  { passageDigest, passages }: Pick<IndexReader, 'passageDigest' | 'passages'>,
  hits: readonly EngineHit[],
  { bits }: FilterBitset,
): Uint32Array {
  const rows = Uint32Array.from(hits, ({ row }) => row)
  const isKnown = hits.every(
    ({ row, digest }) => row >= 0 && row < passages && hasRow(bits, row) && passageDigest(row) === digest,
  )
  if (isKnown && new Set(rows).size === rows.length) return rows
  throw new ArtifactError('OpenSearch gave a passage that the version does not hold, or that the filters exclude.')
}

/**
 * Returns the filters of a scope, and the rows that it has beside them: those that it leaves out of the filters, or
 * those that it keeps, whichever are fewer.
 * @param allowed the rows of the scope.
 */
function engineScope(
  filter: Pick<ScopeFilter, 'ofFilters'>,
  { filters }: SearchScope,
  allowed: FilterBitset,
): EngineScope {
  const filtered = filter.ofFilters(filters)
  if (filtered.count === allowed.count) return { filters, rows: undefined }
  const left = filtered.count - allowed.count
  if (allowed.count <= left) return { filters, rows: { kept: true, list: listRows(allowed) } }
  const bits = filtered.bits.map((word, at) => word & ~(allowed.bits[at] ?? 0))
  return { filters, rows: { kept: false, list: listRows({ bits, count: left }) } }
}
