import { words as wordsOf } from '#core/index/analysis/words.ts'
import { largest } from '#core/platform/top-k.ts'
import type { FoundPassage, SearchQuery, SearchResult } from '#core/domain/search.ts'
import type { CallLimits } from '#search-node/call-limits.ts'
import { boostCited } from './boost.ts'
import type { CitedCandidates, ScoredCandidates, SearchScope, VectorCandidates } from './candidates/source.ts'
import { fuse } from './fuse.ts'
import type { SearchableVersion } from './index-version.ts'
import { PREDICTOR_DEPTH, predictorsOf } from './predictors.ts'
import type { RankedRows } from './predictors.ts'
import type { Question } from './question.ts'
import { rescoreRows } from './rescore.ts'
import type { Rescored } from './rescore.ts'
import { byScore, selectRows } from './select.ts'
import type { Scored } from './select.ts'
import type { RowColumns, RowSet, VersionStatistics } from './statistics.ts'

/** A query as a scoring thread gets it: its vector lies in a buffer of its own. */
export type SearchInput = Omit<SearchQuery, 'projectionId'>

/** A reply may need more candidates than passages, where revisions collapse or documents are capped. */
const CANDIDATE_FACTOR = 2
const WIDEN_FACTOR = 4
/** With a cap on documents there may be fewer passages to show than are allowed: the search for more ends here. */
const CANDIDATES_MAX = 10_000

/**
 * One search, on a scoring thread: scope → references → candidates by words and by vector → rescore → fuse → boost what
 * is cited → select → predictors. Gives `limit` passages always where so many are allowed and a vector ranks. The same
 * input gives the same result on every replica.
 * @throws NodeError where the source of candidates fails.
 */
export async function search(
  { candidates, statistics }: SearchableVersion,
  input: SearchInput,
  limits: CallLimits,
): Promise<SearchResult> {
  const scope = scopeOf(input)
  const visible = statistics.rowsWithin(scope)
  const { text, filters, entitled, ranking } = input
  const vector = input.vector === undefined ? undefined : unit(input.vector)
  const question = text.trim() === '' ? undefined : statistics.question(text, filters.languages)
  const cited = question === undefined ? NOTHING_CITED : await candidates.byReference({ text, scope, entitled }, limits)
  for (let depth = input.limit * CANDIDATE_FACTOR; ; depth *= WIDEN_FACTOR) {
    const byWords = question === undefined ? undefined : await candidates.byWords({ question, scope, depth }, limits)
    const byVector =
      vector === undefined
        ? undefined
        : await candidates.byVector({ vector, scope, depth, rowsScoredMin: ranking.rowsScoredMin }, limits)
    const rows = Uint32Array.from(
      new Set([...(byWords?.ids ?? []), ...(byVector?.ids ?? []), ...cited.ids.keys()]),
    ).sort()
    const rescored =
      question === undefined
        ? undefined
        : rescoreRows(question, statistics.tokens, contextWindow(statistics, visible), rows)
    const dense =
      vector === undefined || byVector === undefined ? undefined : cosinesOf(statistics, rows, vector, byVector)
    const scores = boostCited(rows, fuse({ rows, lexical: rescored?.scores, dense }, ranking), cited.ids)
    const ranked = Array.from(rows, (row, at): Scored => ({ row, score: scores[at] ?? 0 })).sort(
      byScore(statistics.columns),
    )
    const selected = selectRows(ranked, statistics.columns, rulesOf(statistics, input))
    const wanted = Math.min(input.limit, visible.count)
    if (selected.length < wanted && depth < Math.min(visible.count, CANDIDATES_MAX)) continue
    return {
      passages: asShown(selected, statistics.columns).map((scored) =>
        found(statistics, scored, cited, input.withoutText),
      ),
      plan: byVector?.plan ?? 'none',
      allowed: visible.count,
      predictors:
        question === undefined || byWords === undefined || rescored === undefined
          ? []
          : predict(statistics, text, question, byWords, byVector, { rows, ...rescored }),
      unsupported: cited.unsupported,
    }
  }
}

const NOTHING_CITED: CitedCandidates = { ids: new Map(), unsupported: [] }

function scopeOf({ filters, onlyRows, ranking }: SearchInput): SearchScope {
  return { filters, onlyRows, collapseRevisionsOn: ranking.collapseRevisionsOn }
}

function unit(vector: Float32Array): Float32Array {
  let squares = 0
  for (const value of vector) squares += value * value
  const scale = 1 / Math.sqrt(squares)
  return vector.map((value) => value * scale)
}

/** Cosines of all candidates; those that the vectors found are known. @param rows ascending, the known ones among them. */
function cosinesOf(
  statistics: VersionStatistics,
  rows: Uint32Array,
  vector: Float32Array,
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

function contextWindow({ passages, columns }: VersionStatistics, visible: RowSet): Parameters<typeof rescoreRows>[2] {
  return {
    rows: passages,
    sameRevisionAsPrevious: (row) => columns.sameRevisionAsPrevious[row] === 1,
    allowed: (row) => visible.has(row),
  }
}

function rulesOf(statistics: VersionStatistics, { limit, ranking }: SearchInput): Parameters<typeof selectRows>[2] {
  const { collapseRevisionsOn: day, perDocumentMax } = ranking
  return { limit, perDocumentMax, inForce: day === '' ? undefined : statistics.inForceOn(day) }
}

/**
 * Predictors of the same candidates by words however many passages are wanted, and of the fifty nearest among those
 * that the vectors gave: up to ten passages are judged alike, and hundreds, as an evaluation asks for, within what heads
 * leave open (decision 0009).
 */
function predict(
  { passages, columns, tokens, passage }: VersionStatistics,
  text: string,
  question: Question,
  byWords: ScoredCandidates,
  byVector: VectorCandidates | undefined,
  { rows, scores, contributions }: Rescored & { readonly rows: Uint32Array },
): readonly number[] {
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
    dense: byVector === undefined ? NOTHING : bestFirst(byVector, PREDICTOR_DEPTH),
    documents: columns.documents,
    first:
      first === undefined ? undefined : { language: first.metadata.language, heading: first.heading, text: first.text },
  })
}

const NOTHING: RankedRows = { rows: new Uint32Array(0), scores: new Float64Array(0) }

/** Scores from 0 to 1; rows that are cut to the same score are ties like any other. */
function asShown(selected: readonly Scored[], columns: RowColumns): Scored[] {
  return selected.map(({ row, score }) => ({ row, score: Math.min(1, Math.max(0, score)) })).sort(byScore(columns))
}

function bestFirst({ ids: rows, scores }: ScoredCandidates, count: number): RankedRows {
  const order = largest(scores, count)
  return { rows: order.map((at) => rows[at] ?? 0), scores: Float64Array.from(order, (at) => scores[at] ?? 0) }
}

/** What a reply shows of a passage. */
function found(
  { passage }: VersionStatistics,
  { row, score }: Scored,
  cited: CitedCandidates,
  withoutText = false,
): FoundPassage {
  const { chunk_id, source_id, text, document, citation, metadata, place } = passage(row)
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
      verificationStatus: metadata.verification_status,
    },
    place: { ordinal: place.ordinal, documentPassages: place.document_passages },
    cited: cited.ids.has(row),
    row,
    sourceId: source_id,
  }
}
