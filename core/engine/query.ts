import { z } from 'zod'
import type { Filters } from '#core/domain/search.ts'
import type { EngineDescription } from '#core/index/engine/description.ts'
import { dayNumber } from '#core/index/facets/layout.ts'
import { ENGINE_BOUNDS } from './bounds.ts'
import { EngineError, type EngineClient, assertWhole, shardsSchema } from './client.ts'
import { featureOf, type FilterField } from './documents.ts'

type Clause = Readonly<Record<string, object>>

/** The scope of a query: filters, and rows that they are narrowed to. */
export interface EngineScope {
  readonly filters: Filters
  readonly rows: { readonly kept: boolean; readonly list: Uint32Array } | undefined
}

/** A term of a question: the hash of the term, and the weight by which its impact counts. */
export interface WeightedTerm {
  readonly hash: number
  readonly weight: number
}

/** Best first by the sum of weight × impact, ties by chunk id: neither depends on shards, replicas or segments. */
export function wordsBody(terms: readonly WeightedTerm[], scope: EngineScope, size: number): object {
  const should = terms.map(({ hash, weight }) => ({
    rank_feature: { field: `words.${featureOf(hash)}`, linear: {}, boost: weight },
  }))
  return {
    ...RESULT,
    size: sizeOf(size),
    sort: [{ _score: 'desc' }, { rank: 'asc' }],
    query: { bool: { should, minimum_should_match: 1, ...scopeOf(scope) } },
  }
}

/** The nearest rows, approximately: the best of those that each shard explores. @param vector unit length. */
export function nearestBody(vector: Float32Array, scope: EngineScope, size: number): object {
  const k = Math.max(size, ENGINE_BOUNDS.exploredRows)
  const knn = { vector: { vector: [...vector], k, filter: { bool: scopeOf(scope) } } }
  return { ...RESULT, size: sizeOf(size), query: { knn } }
}

/** The nearest rows: every row of the scope is scored. */
export function exactBody(vector: Float32Array, scope: EngineScope, size: number): object {
  return { ...RESULT, size: sizeOf(size), query: exactQuery({ bool: scopeOf(scope) }, vector) }
}

/** Scores every row of a query by its inner product with a vector. */
export function exactQuery(query: object, vector: Float32Array): object {
  const params = { field: 'vector', query_value: [...vector], space_type: 'innerproduct' }
  return { script_score: { query, script: { source: 'knn_score', lang: 'knn', params } } }
}

/** Two columns of a hit, without its source. */
const RESULT = {
  _source: false,
  stored_fields: '_none_',
  docvalue_fields: ['row', 'digest'],
  track_total_hits: false,
} as const

function sizeOf(size: number): number {
  if (size <= ENGINE_BOUNDS.hitsMax) return size
  throw new EngineError('refused', `OpenSearch gives at most ${ENGINE_BOUNDS.hitsMax} candidates to one query.`)
}

function scopeOf({ filters, rows }: EngineScope): {
  readonly filter: readonly Clause[]
  readonly must_not?: readonly Clause[]
} {
  const filter = filterClauses(filters)
  if (rows === undefined) return { filter }
  const clauses = rowClauses(rows.list)
  return rows.kept ? { filter: [...filter, { bool: { should: clauses } }] } : { filter, must_not: clauses }
}

/** Every list is exact: a value that it does not name is not allowed, so an empty one allows nothing. */
function filterClauses(filters: Filters): readonly Clause[] {
  const { languages, jurisdictions, subjects, anySubject, verificationStatuses, inForceOn, documents } = filters
  const day = inForceOn === '' ? undefined : dayNumber(inForceOn)
  return [
    termsOf('language', languages),
    termsOf('jurisdiction', jurisdictions),
    termsOf('status', verificationStatuses),
    ...(anySubject ? [] : [termsOf('subjects', subjects)]),
    ...(documents.length === 0 ? [] : [termsOf('document', documents)]),
    ...(day === undefined ? [] : [rangeOf('from', { lte: day }), rangeOf('to', { gt: day })]),
  ]
}

function termsOf(field: FilterField, values: readonly string[]): Clause {
  return { bool: { should: splitTerms(field, values), minimum_should_match: 1 } }
}

function rangeOf(field: FilterField, range: object): Clause {
  return { range: { [field]: range } }
}

function rowClauses(rows: Uint32Array): readonly Clause[] {
  if (rows.length > ENGINE_BOUNDS.rowsNamedMax)
    throw new EngineError('refused', `A query names at most ${ENGINE_BOUNDS.rowsNamedMax} rows; narrow it by filters.`)
  return splitTerms('row', [...rows])
}

/** OpenSearch takes a bounded number of terms in one clause. An empty list is one clause that matches nothing. */
function splitTerms(field: FilterField, values: readonly (string | number)[]): readonly Clause[] {
  const clauses: Clause[] = []
  for (let at = 0; at === 0 || at < values.length; at += ENGINE_BOUNDS.termsPerClauseMax)
    clauses.push({ terms: { [field]: values.slice(at, at + ENGINE_BOUNDS.termsPerClauseMax) } })
  return clauses
}

const hitsSchema = z.object({
  timed_out: z.boolean(),
  _shards: shardsSchema,
  hits: z.object({
    hits: z.array(
      z.object({ _score: z.number(), fields: z.object({ row: z.tuple([z.int()]), digest: z.tuple([z.string()]) }) }),
    ),
  }),
})

export interface EngineHit {
  readonly row: number
  readonly digest: string
  readonly score: number
}

/**
 * Searches the version's own index; never an alias.
 * @throws EngineError `unavailable` unless every shard answered in time.
 */
export async function searchIndex(
  client: EngineClient,
  { index, shards }: Pick<EngineDescription, 'index' | 'shards'>,
  body: object,
  timeoutMs: number,
): Promise<readonly EngineHit[]> {
  const query = {
    allow_partial_search_results: false,
    request_cache: false,
    timeout: `${timeoutMs}ms`,
    cancel_after_time_interval: `${timeoutMs}ms`,
  }
  const path = `/${index}/_search`
  const reply = await client.request({ method: 'POST', path, query, body, timeoutMs }, hitsSchema)
  assertWhole(reply, shards)
  return reply.hits.hits.map(({ _score: score, fields }) => ({ row: fields.row[0], digest: fields.digest[0], score }))
}
