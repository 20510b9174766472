import { dayNumber } from '#core/index/format/layout.ts'
import type { Filters, FoundPassage, Ranking, SearchReply } from '#core/rpc/search-client.ts'
import { words as wordsOf } from '#core/index/analysis/words.ts'
import { allowedRows, isAllowed, isInForce, narrowedTo, withoutReplaced } from './filter-bitset.ts'
import type { Allowed } from './filter-bitset.ts'
import { cosinesOf, vectorCandidates, wordCandidates } from './candidates/candidates.ts'
import type { VectorCandidates, WordCandidates } from './candidates/candidates.ts'
import { EVIDENCE_DEPTH, evidenceOf } from './predictors.ts'
import type { RankedRows } from './predictors.ts'
import { fuse } from './fuse.ts'
import type { Mapping } from '#core/index/format/reader.ts'
import { raiseNamed } from './boost.ts'
import { resolveReferences } from './candidates/references/resolve.ts'
import type { ResolvedReferences } from './candidates/references/resolve.ts'
import { rescoreRows } from './rescore.ts'
import type { Rescored } from './rescore.ts'
import { byScore, selectRows } from './select.ts'
import type { Scored } from './select.ts'

export interface SearchInput {
  /** Any positive length, in a buffer of its own; undefined: only the words rank. */
  readonly vector: Float32Array | undefined
  /** Blank: only the vector ranks. */
  readonly text: string
  readonly limit: number
  readonly filters: Filters
  /** What the caller may see before the request's own filters. */
  readonly entitled: Filters
  readonly ranking: Ranking
  readonly withoutText: boolean
  /** A bitset (bit row % 8 of byte row / 8) that narrows the filters further; undefined: every row. */
  readonly onlyRows: Uint8Array | undefined
}

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
export function search(mapping: Mapping, input: SearchInput): SearchReply {
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
        : vectorCandidates(mapping, { vector: input.vector, expansion: input.ranking.expansion }, allowed, depth)
    const rows = Uint32Array.from(
      new Set([...(words?.rows ?? []), ...(vectors?.rows ?? []), ...references.rows.keys()]),
    ).sort()
    const rescored =
      words === undefined
        ? undefined
        : rescoreRows(words.question, mapping.forward, surroundings(mapping, allowed), rows)
    const dense = vectors === undefined ? undefined : cosinesOf(mapping, rows, vectors)
    const scores = raiseNamed(rows, fuse({ rows, lexical: rescored?.scores, dense }, input.ranking), references.rows)
    const ranked = Array.from(rows, (row, at): Scored => ({ row, score: scores[at] ?? 0 })).sort(byScore(mapping.rows))
    const selected = selectRows(ranked, mapping.rows, rulesOf(mapping, input))
    if (selected.length < Math.min(input.limit, allowed.count) && depth < Math.min(allowed.count, CANDIDATES_MAX))
      continue
    return {
      passages: asShown(selected, mapping.rows).map((scored) => found(mapping, scored, references, input.withoutText)),
      plan: vectors?.plan ?? 'none',
      allowed: allowed.count,
      evidence:
        words === undefined || rescored === undefined
          ? []
          : evidence(mapping, input, words, vectors, { rows, ...rescored }),
      unsupported: references.unsupported,
    }
  }
}

function allow(
  { passages, facets, rows, allowedCache }: Mapping,
  { filters, onlyRows, ranking }: SearchInput,
): Allowed {
  const filtered = allowedRows(filters, passages, facets, allowedCache)
  const allowed = onlyRows === undefined ? filtered : narrowedTo(filtered, onlyRows)
  // Where everything allowed is in force on a day there is nothing to replace.
  if (ranking.collapse_revisions_on === '' || filters.in_force_on !== '') return allowed
  return withoutReplaced(allowed, dayNumber(ranking.collapse_revisions_on), rows.provisions, facets)
}

function name(mapping: Mapping, { text, entitled }: SearchInput, allowed: Allowed): ResolvedReferences {
  if (text.trim() === '') return { rows: new Map(), unsupported: [] }
  let held: Allowed | undefined
  return resolveReferences(text, mapping.references, {
    allowed: (row) => isAllowed(allowed.bits, row),
    entitled: (row) =>
      isAllowed((held ??= allowedRows(entitled, mapping.passages, mapping.facets, mapping.allowedCache)).bits, row),
    text: (row) => mapping.passage(row).text,
  })
}

function surroundings(mapping: Mapping, { bits }: Allowed): Parameters<typeof rescoreRows>[2] {
  return {
    rows: mapping.passages,
    continues: (row) => mapping.rows.continues[row] === 1,
    allowed: (row) => isAllowed(bits, row),
  }
}

function rulesOf({ facets }: Mapping, { limit, ranking }: SearchInput): Parameters<typeof selectRows>[2] {
  const day = ranking.collapse_revisions_on === '' ? undefined : dayNumber(ranking.collapse_revisions_on)
  return {
    limit,
    perDocumentMax: ranking.per_document_max,
    inForce: day === undefined ? undefined : (row) => isInForce(facets, row, day),
  }
}

/**
 * Of the same candidates by words however many passages are wanted, and of the fifty nearest among those that the
 * vectors gave: up to ten passages are judged alike, and hundreds, as an evaluation asks for, within what heads leave
 * open (decision 0009).
 */
function evidence(
  mapping: Mapping,
  { text }: SearchInput,
  { question, rows: ofWords }: WordCandidates,
  vectors: VectorCandidates | undefined,
  { rows, scores, contributions }: Rescored & { readonly rows: Uint32Array },
): readonly number[] {
  const looked = new Set(ofWords.subarray(0, EVIDENCE_DEPTH))
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
  return evidenceOf({
    question,
    questionWords: new Set(wordsOf(text)).size,
    passages: mapping.passages,
    forward: mapping.forward,
    lexical: { rows: order.map((at) => rows[at] ?? 0), scores: Float64Array.from(order, (at) => scores[at] ?? 0) },
    contributions: ofOrder,
    dense: vectors === undefined ? NOTHING : bestFirst(vectors, EVIDENCE_DEPTH),
    documents: mapping.rows.documents,
    first:
      first === undefined ? undefined : { language: first.metadata.language, heading: first.heading, text: first.text },
  })
}

const NOTHING: RankedRows = { rows: new Uint32Array(0), scores: new Float64Array(0) }

/** Scores from 0 to 1; rows that are cut to the same score are ties like any other. */
function asShown(selected: readonly Scored[], table: Mapping['rows']): Scored[] {
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
  mapping: Mapping,
  { row, score }: Scored,
  references: ResolvedReferences,
  withoutText: boolean,
): FoundPassage {
  const { chunk_id, source_id, text, document, citation, metadata, place } = mapping.passage(row)
  return {
    chunk_id,
    text: withoutText ? '' : text,
    score,
    document,
    citation,
    metadata,
    place,
    named: references.rows.has(row),
    row,
    source_id,
  }
}
