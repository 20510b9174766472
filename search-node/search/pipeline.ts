import { words as wordsOf } from '#core/index/analysis/words.ts'
import { largest } from '#core/platform/top-k.ts'
import type { FoundPassage, SearchQuery, SearchResult } from '#core/domain/search.ts'
import type { CallLimits } from '#search-node/call-limits.ts'
import { boostCited } from './boost.ts'
import type {
  CandidateSource,
  CitedCandidates,
  ScoredCandidates,
  SearchScope,
  VectorCandidates,
} from './candidates/source.ts'
import { fuse } from './fuse.ts'
import type { SearchableVersion } from './index-version.ts'
import { createNamedProvisions } from './named-provision.ts'
import { PREDICTOR_DEPTH, predictorsOf } from './predictors.ts'
import type { RankedRows } from './predictors.ts'
import type { Question } from './question.ts'
import { rescoreRows } from './rescore.ts'
import type { Rescored } from './rescore.ts'
import { byScore, selectRows } from './select.ts'
import type { Scored } from './select.ts'
import type { RowColumns, RowSet, VersionStatistics } from './statistics.ts'

/** A query as a scoring thread receives it, with its vector in a buffer of its own. */
export type SearchInput = Omit<SearchQuery, 'projectionId'>

/** A reply may need more candidates than passages, because revisions collapse or documents are capped. */
const CANDIDATE_FACTOR = 2
const WIDEN_FACTOR = 4
/**
 * Minimum of lexical candidates: rescoring more than 50 changes no measured figure by more than 0.003 (decision 0008).
 */
const WORD_CANDIDATES_MIN = PREDICTOR_DEPTH
/** A cap on documents may leave fewer passages than are allowed; the search for more candidates ends at this depth. */
const CANDIDATES_MAX = 10_000

/**
 * One search, on a scoring thread: scope → references → candidates by words and by vector → rescore → fuse → boost
 * cited rows → select → predictors. Returns `limit` passages if so many are allowed and a vector ranks. The same input
 * gives the same result on every replica.
 * @throws NodeError if the source of candidates fails.
 */
export async function search(
  { candidates, statistics }: SearchableVersion,
  input: SearchInput,
  limits: CallLimits,
): Promise<SearchResult> {
  const { columns } = statistics
  const { standardised } = statistics.vectorScores
  const rules = rulesOf(statistics, input)
  const query = queryOf(statistics, input)
  const visible = statistics.rowsWithin(query.scope)
  const cited = await findCited(candidates, query, limits)
  const named = createNamedProvisions(statistics, cited, input.filters.languages)
  const wanted = Math.min(input.limit, visible.count)
  const depthMax = Math.min(visible.count, CANDIDATES_MAX)
  for (let depth = input.limit * CANDIDATE_FACTOR; ; depth *= WIDEN_FACTOR) {
    const found = await findCandidates(candidates, query, cited, depth, limits)
    const rescored = rescore(statistics, query, visible, found)
    const dense = vectorScoresOf(statistics, query, found)
    const fused = fuse({ rows: found.rows, lexical: rescored?.scores, dense, standardised }, input.ranking)
    const boosted = boostCited(found.rows, fused, named.order(input.limit))
    const selected = selectRows(bestFirst(found.rows, boosted, columns), columns, rules)
    if (selected.length < wanted && depth < depthMax) continue
    return {
      passages: asShown(selected, columns).map((scored) => shownPassage(statistics, scored, cited, input.withoutText)),
      plan: found.byVector?.plan ?? 'none',
      allowed: visible.count,
      predictors: predict(statistics, query, found, rescored, named.coverage(selected.map(({ row }) => row))),
      unsupported: cited.unsupported,
    }
  }
}

/** A query in the form that the stages share. */
interface Query {
  readonly input: SearchInput
  readonly scope: SearchScope
  /** Undefined: no lexical ranking. */
  readonly question: Question | undefined
  /** Unit length. Undefined: no dense ranking. */
  readonly vector: Float32Array | undefined
}

function queryOf(statistics: VersionStatistics, input: SearchInput): Query {
  const { text, filters, onlyRows, ranking } = input
  return {
    input,
    scope: { filters, onlyRows, collapseRevisionsOn: ranking.collapseRevisionsOn },
    question: text.trim() === '' ? undefined : statistics.question(text, filters.languages),
    vector: input.vector === undefined ? undefined : unit(input.vector),
  }
}

function unit(vector: Float32Array): Float32Array {
  let squares = 0
  for (const value of vector) squares += value * value
  const scale = 1 / Math.sqrt(squares)
  return vector.map((value) => value * scale)
}

async function findCited(
  candidates: CandidateSource,
  { input: { text, entitled }, scope, question }: Query,
  limits: CallLimits,
): Promise<CitedCandidates> {
  return question === undefined
    ? { ids: new Map(), unsupported: [], remainder: '' }
    : candidates.byReference({ text, scope, entitled }, limits)
}

/** Candidates of each ranking that runs, and their union with the cited rows. */
interface Found {
  /** Ascending. */
  readonly rows: Uint32Array
  readonly byWords: ScoredCandidates | undefined
  readonly byVector: VectorCandidates | undefined
}

async function findCandidates(
  candidates: CandidateSource,
  { input, scope, question, vector }: Query,
  cited: CitedCandidates,
  depth: number,
  limits: CallLimits,
): Promise<Found> {
  const { rowsScoredMin } = input.ranking
  const byWords =
    question === undefined
      ? undefined
      : await candidates.byWords({ question, scope, depth: Math.max(depth, WORD_CANDIDATES_MIN) }, limits)
  const byVector =
    vector === undefined ? undefined : await candidates.byVector({ vector, scope, depth, rowsScoredMin }, limits)
  const ids = new Set([...(byWords?.ids ?? []), ...(byVector?.ids ?? []), ...cited.ids.keys()])
  return { rows: Uint32Array.from(ids).sort(), byWords, byVector }
}

function rescore(
  { passages, columns, tokens }: VersionStatistics,
  { question }: Query,
  visible: RowSet,
  { rows }: Found,
): Rescored | undefined {
  if (question === undefined) return undefined
  const contextWindow = {
    rows: passages,
    sameRevisionAsPrevious: (row: number) => columns.sameRevisionAsPrevious[row] === 1,
    allowed: (row: number) => visible.has(row),
  }
  return rescoreRows(question, tokens, contextWindow, rows)
}

function vectorScoresOf(
  statistics: VersionStatistics,
  { vector }: Query,
  { rows, byVector }: Found,
): Float64Array | undefined {
  if (vector === undefined || byVector === undefined) return undefined
  return statistics.vectorScores.of(cosinesOf(statistics, vector, rows, byVector), vector)
}

/** Cosines of all candidates; those of the dense candidates are known. */
function cosinesOf(
  statistics: VersionStatistics,
  vector: Float32Array,
  rows: Uint32Array,
  { ids, scores }: VectorCandidates,
): Float64Array {
  let next = 0
  const others = rows.filter((row) => {
    while ((ids[next] ?? Infinity) < row) next += 1
    return ids[next] !== row
  })
  const ofOthers = statistics.cosines(others, vector)
  let [known, other] = [0, 0]
  return Float64Array.from(rows, (row) => (ids[known] === row ? scores[known++] : ofOthers[other++]) ?? 0)
}

function bestFirst(rows: Uint32Array, scores: Float64Array, columns: RowColumns): Scored[] {
  return Array.from(rows, (row, at): Scored => ({ row, score: scores[at] ?? 0 })).sort(byScore(columns))
}

function rulesOf(statistics: VersionStatistics, { limit, ranking }: SearchInput): Parameters<typeof selectRows>[2] {
  const { collapseRevisionsOn: day, perDocumentMax } = ranking
  return { limit, perDocumentMax, inForce: day === '' ? undefined : statistics.inForceOn(day) }
}

/**
 * Predictors depend on the lexical candidates at a fixed depth, however many passages are wanted, and on the fifty
 * nearest dense candidates. Up to ten wanted passages give equal values. Hundreds, as in an evaluation, may differ
 * within the rounding error of heads (decision 0009).
 */
function predict(
  statistics: VersionStatistics,
  { input: { text }, question, vector }: Query,
  { rows, byWords, byVector }: Found,
  rescored: Rescored | undefined,
  namedCoverage: number | undefined,
): readonly number[] {
  if (question === undefined || byWords === undefined || rescored === undefined) return []
  const { passages, columns, tokens, passage, vectorScores } = statistics
  const { scores, contributions } = rescored
  const looked = new Set(byWords.ids.subarray(0, PREDICTOR_DEPTH))
  const order = Uint32Array.from(rows.keys())
    .filter((at) => looked.has(rows[at] ?? 0))
    .sort(
      (a, b) =>
        (scores[b] ?? 0) - (scores[a] ?? 0) ||
        (columns.chunkRanks[rows[a] ?? 0] ?? 0) - (columns.chunkRanks[rows[b] ?? 0] ?? 0),
    )
  const width = question.words.length
  const ofOrder = new Float64Array(order.length * width)
  for (const [place, at] of order.entries())
    ofOrder.set(contributions.subarray(at * width, (at + 1) * width), place * width)
  const [best] = order
  const first = best === undefined ? undefined : passage(rows[best] ?? 0)
  return predictorsOf({
    question,
    questionWords: new Set(wordsOf(text)).size,
    passages,
    forward: tokens,
    lexical: { rows: order.map((at) => rows[at] ?? 0), scores: Float64Array.from(order, (at) => scores[at] ?? 0) },
    contributions: ofOrder,
    dense:
      byVector === undefined || vector === undefined
        ? NO_ROWS
        : nearest({ ...byVector, scores: vectorScores.of(byVector.scores, vector) }, PREDICTOR_DEPTH),
    documents: columns.documents,
    standardised: vectorScores.standardised,
    namedCoverage,
    first:
      first === undefined ? undefined : { language: first.metadata.language, heading: first.heading, text: first.text },
  })
}

const NO_ROWS: RankedRows = { rows: new Uint32Array(0), scores: new Float64Array(0) }

/** Clamps scores to [0, 1]; rows that are clamped to the same score are ordered as ties. */
function asShown(selected: readonly Scored[], columns: RowColumns): Scored[] {
  return selected.map(({ row, score }) => ({ row, score: Math.min(1, Math.max(0, score)) })).sort(byScore(columns))
}

function nearest({ ids: rows, scores }: ScoredCandidates, count: number): RankedRows {
  const top = largest(scores, count)
  return { rows: top.ids.map((at) => rows[at] ?? 0), scores: top.scores }
}

/** The fields of a passage in a reply. */
function shownPassage(
  { passage }: VersionStatistics,
  { row, score }: Scored,
  cited: CitedCandidates,
  withoutText = false,
): FoundPassage {
  const { chunk_id, source_id, text, document, citation, metadata, subjects, place } = passage(row)
  return {
    chunkId: chunk_id,
    text: withoutText ? '' : text,
    score,
    document: {
      id: document.id,
      revisionId: document.revision_id,
      title: document.title,
      authority: document.authority,
      canonicalUrl: document.canonical_url,
      publishedAt: document.published_at,
      effectiveAt: document.effective_at,
    },
    citation: {
      label: citation.label,
      sourceAnchor: citation.source_anchor,
      sourceSnapshotId: citation.source_snapshot_id,
    },
    metadata: {
      language: metadata.language,
      jurisdiction: metadata.jurisdiction,
      subjects,
      verificationStatus: metadata.verification_status,
    },
    place: { ordinal: place.ordinal, documentPassages: place.document_passages },
    cited: cited.ids.has(row),
    row,
    sourceId: source_id,
  }
}
