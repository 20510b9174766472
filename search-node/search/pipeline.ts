import { dayNumber } from '#core/index/format/layout.ts'
import type { FoundPassage, SearchQuery, SearchResult } from '#core/domain/search.ts'
import { words as wordsOf } from '#core/index/analysis/words.ts'
import { filterBitset, hasRow, isInForce, narrowedTo, withoutSuperseded } from './filter-bitset.ts'
import type { FilterBitset } from './filter-bitset.ts'
import { cosinesOf, vectorCandidates, wordCandidates } from './candidates/candidates.ts'
import type { VectorCandidates, WordCandidates } from './candidates/candidates.ts'
import { PREDICTOR_DEPTH, predictorsOf } from './predictors.ts'
import type { RankedRows } from './predictors.ts'
import { fuse } from './fuse.ts'
import type { IndexReader } from '#core/index/format/reader.ts'
import { boostCited } from './boost.ts'
import { resolveReferences } from './candidates/references/resolve.ts'
import type { ResolvedReferences } from './candidates/references/resolve.ts'
import { rescoreRows } from './rescore.ts'
import type { Rescored } from './rescore.ts'
import { byScore, selectRows } from './select.ts'
import type { Scored } from './select.ts'

/** A query as a scoring thread gets it: its vector lies in a buffer of its own. */
export type SearchInput = Omit<SearchQuery, 'projectionId'>

/** A reply may need more candidates than passages, where revisions collapse or documents are capped. */
const CANDIDATE_FACTOR = 2
const WIDEN_FACTOR = 4
/** With a cap on documents there may be fewer passages to show than are allowed: the search for more ends here. */
const CANDIDATES_MAX = 10_000

/**
 * One search, on a scoring thread: allow → words and vectors, each its candidates → fuse → raise what is named →
 * select, and what speaks for the list. Always `limit` passages where so many are allowed and a vector ranks; the same
 * input gives the same reply on every replica.
 */
export function search(mapping: IndexReader, input: SearchInput): SearchResult {
  const allowed = allow(mapping, input)
  const references = name(mapping, input, allowed)
  for (let depth = input.limit * CANDIDATE_FACTOR; ; depth *= WIDEN_FACTOR) {
    const words =
      input.text.trim() === ''
        ? undefined
        : wordCandidates(mapping, { text: input.text, languages: input.filters.languages }, allowed, depth)
    const vectors =
      input.vector === undefined
        ? undefined
        : vectorCandidates(mapping, { vector: input.vector, expansion: input.ranking.rowsScoredMin }, allowed, depth)
    const rows = Uint32Array.from(
      new Set([...(words?.rows ?? []), ...(vectors?.rows ?? []), ...references.rows.keys()]),
    ).sort()
    const rescored =
      words === undefined
        ? undefined
        : rescoreRows(words.question, mapping.forward, contextWindow(mapping, allowed), rows)
    const dense = vectors === undefined ? undefined : cosinesOf(mapping, rows, vectors)
    const scores = boostCited(rows, fuse({ rows, lexical: rescored?.scores, dense }, input.ranking), references.rows)
    const ranked = Array.from(rows, (row, at): Scored => ({ row, score: scores[at] ?? 0 })).sort(byScore(mapping.rows))
    const selected = selectRows(ranked, mapping.rows, rulesOf(mapping, input))
    if (selected.length < Math.min(input.limit, allowed.count) && depth < Math.min(allowed.count, CANDIDATES_MAX))
      continue
    return {
      passages: asShown(selected, mapping.rows).map((scored) => found(mapping, scored, references, input.withoutText)),
      plan: vectors?.plan ?? 'none',
      allowed: allowed.count,
      predictors:
        words === undefined || rescored === undefined
          ? []
          : evidence(mapping, input, words, vectors, { rows, ...rescored }),
      unsupported: references.unsupported,
    }
  }
}

function allow(
  { passages, facets, rows, allowedCache }: IndexReader,
  { filters, onlyRows, ranking }: SearchInput,
): FilterBitset {
  const filtered = filterBitset(filters, passages, facets, allowedCache)
  const allowed = onlyRows === undefined ? filtered : narrowedTo(filtered, onlyRows)
  // Where everything allowed is in force on a day there is nothing to replace.
  if (ranking.collapseRevisionsOn === '' || filters.inForceOn !== '') return allowed
  return withoutSuperseded(allowed, dayNumber(ranking.collapseRevisionsOn), rows.provisions, facets)
}

function name(mapping: IndexReader, { text, entitled }: SearchInput, allowed: FilterBitset): ResolvedReferences {
  if (text.trim() === '') return { rows: new Map(), unsupported: [] }
  let held: FilterBitset | undefined
  return resolveReferences(text, mapping.references, {
    allowed: (row) => hasRow(allowed.bits, row),
    entitled: (row) =>
      hasRow((held ??= filterBitset(entitled, mapping.passages, mapping.facets, mapping.allowedCache)).bits, row),
    text: (row) => mapping.passage(row).text,
  })
}

function contextWindow(mapping: IndexReader, { bits }: FilterBitset): Parameters<typeof rescoreRows>[2] {
  return {
    rows: mapping.passages,
    sameRevisionAsPrevious: (row) => mapping.rows.sameRevisionAsPrevious[row] === 1,
    allowed: (row) => hasRow(bits, row),
  }
}

function rulesOf({ facets }: IndexReader, { limit, ranking }: SearchInput): Parameters<typeof selectRows>[2] {
  const day = ranking.collapseRevisionsOn === '' ? undefined : dayNumber(ranking.collapseRevisionsOn)
  return {
    limit,
    perDocumentMax: ranking.perDocumentMax,
    inForce: day === undefined ? undefined : (row) => isInForce(facets, row, day),
  }
}

/**
 * Of the same candidates by words however many passages are wanted, and of the fifty nearest among those that the
 * vectors gave: up to ten passages are judged alike, and hundreds, as an evaluation asks for, within what heads leave
 * open (decision 0009).
 */
function evidence(
  mapping: IndexReader,
  { text }: SearchInput,
  { question, rows: ofWords }: WordCandidates,
  vectors: VectorCandidates | undefined,
  { rows, scores, contributions }: Rescored & { readonly rows: Uint32Array },
): readonly number[] {
  const looked = new Set(ofWords.subarray(0, PREDICTOR_DEPTH))
  const order = Uint32Array.from(rows.keys())
    .filter((at) => looked.has(rows[at] ?? 0))
    .sort(
      (a, b) =>
        (scores[b] ?? 0) - (scores[a] ?? 0) ||
        (mapping.rows.chunkRanks[rows[a] ?? 0] ?? 0) - (mapping.rows.chunkRanks[rows[b] ?? 0] ?? 0),
    )
  const width = question.words.length
  const ofOrder = new Float64Array(order.length * width)
  for (const [place, at] of order.entries())
    ofOrder.set(contributions.subarray(at * width, (at + 1) * width), place * width)
  const [best] = order
  const first = best === undefined ? undefined : mapping.passage(rows[best] ?? 0)
  return predictorsOf({
    question,
    questionWords: new Set(wordsOf(text)).size,
    passages: mapping.passages,
    forward: mapping.forward,
    lexical: { rows: order.map((at) => rows[at] ?? 0), scores: Float64Array.from(order, (at) => scores[at] ?? 0) },
    contributions: ofOrder,
    dense: vectors === undefined ? NOTHING : bestFirst(vectors, PREDICTOR_DEPTH),
    documents: mapping.rows.documents,
    first:
      first === undefined ? undefined : { language: first.metadata.language, heading: first.heading, text: first.text },
  })
}

const NOTHING: RankedRows = { rows: new Uint32Array(0), scores: new Float64Array(0) }

/** Scores from 0 to 1; rows that are cut to the same score are ties like any other. */
function asShown(selected: readonly Scored[], table: IndexReader['rows']): Scored[] {
  return selected.map(({ row, score }) => ({ row, score: Math.min(1, Math.max(0, score)) })).sort(byScore(table))
}

function bestFirst({ rows, scores }: RankedRows, count: number): RankedRows {
  const order = Uint32Array.from(rows.keys())
    .sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0) || a - b)
    .subarray(0, count)
  return { rows: order.map((at) => rows[at] ?? 0), scores: Float64Array.from(order, (at) => scores[at] ?? 0) }
}

/** What a reply shows of a passage. */
function found(
  mapping: IndexReader,
  { row, score }: Scored,
  references: ResolvedReferences,
  withoutText = false,
): FoundPassage {
  const { chunk_id, source_id, text, document, citation, metadata, place } = mapping.passage(row)
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
    cited: references.rows.has(row),
    row,
    sourceId: source_id,
  }
}
