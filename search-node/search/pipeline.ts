import { words as wordsOf } from '#core/index/analysis/words.ts'
import { aboveBackground, coverageOf, heldNgrams, type Coverage } from '#core/index/ngrams/coverage.ts'
import { createTopK, largest } from '#core/index/top-k.ts'
import type { FoundPassage, SearchResult } from '#core/domain/search.ts'
import { SEARCH_NODE_BOUNDS } from '#search-node/bounds.ts'
import type { CallDeadline } from '#search-node/node-error.ts'
import { createNamedProvisions, type RoundCandidates, type NamedFigures, boostNamed } from './named-provision.ts'
import type {
  CandidateSource,
  NamedRows,
  ScoredCandidates,
  SearchableVersion,
  Query,
  SearchInput,
  RowColumns,
  VersionStatistics,
} from './interfaces.ts'
import { fuse } from './fuse.ts'
import { predictorsOf, type RankedRows } from './predictors.ts'
import type { Round } from './candidate-round.ts'
import { searchInRounds, type ScoredRows, byScore, selectRows, type Scored } from './search-rounds.ts'

/** Queries of a rewriter whose words rank; a third one added nothing (decision 0062). */
const RANKING_TEXTS_MAX = 2

/**
 * One search, on a scoring thread: scope → references → candidates by words and by vector → rescore → fuse → boost
 * named rows → select → predictors. Returns `limit` passages if so many are allowed and a vector ranks. The same input
 * gives the same result on every replica.
 * @throws NodeError if the source of candidates fails, or the deadline passes between two rounds of candidates.
 */
export async function search(
  version: SearchableVersion,
  input: SearchInput,
  deadline: CallDeadline,
): Promise<SearchResult> {
  const { candidates, statistics } = version
  const { columns } = statistics
  const rules = rulesOf(statistics, input)
  const query = queryOf(statistics, input)
  const visible = statistics.rowsInScope(query.scope)
  const named = await findNamed(candidates, query, deadline)
  const provisions = createNamedProvisions(statistics, named, input.filters.languages)
  const select = (scored: ScoredRows): readonly Scored[] => {
    const { rows } = scored
    const fused = fuse({ ...scored, lexical: scored.words }, input.ranking.denseWeight)
    return selectRows(bestFirst(rows, boostNamed(rows, fused, provisions.order(input.limit)), columns), columns, rules)
  }
  const { first, selected } = await searchInRounds(version, query, visible, named.ids.keys(), select, deadline)
  const shown = asShown(selected, columns)
  return {
    passages: input.rowsOnly === true ? [] : shown.map((scored) => shownPassage(statistics, scored, named)),
    rows: input.rowsOnly === true ? shown.map((scored) => ({ ...scored, named: named.ids.has(scored.row) })) : [],
    plan: first.byVector?.plan ?? 'none',
    allowed: visible.count,
    predictors: predict(statistics, query, first, (round) =>
      provisions.figures(
        selected.map(({ row }) => row),
        round,
      ),
    ),
    unsupported: named.unsupported,
  }
}

function queryOf(statistics: VersionStatistics, input: SearchInput): Query {
  const { text, rewritten = [], filters, onlyRows, withdrawn = [], ranking } = input
  const written: string[] = []
  for (const each of rewritten) {
    const words = statistics.withoutReferences(each)
    if (words.trim() !== '') written.push(words)
    if (written.length === RANKING_TEXTS_MAX) break
  }
  const ranked = written.length > 0 ? written : [text]
  return {
    input,
    scope: { filters, onlyRows, withdrawn, collapseRevisionsOn: ranking.collapseRevisionsOn },
    texts: ranked
      .filter((each) => each.trim() !== '')
      .map((each) => ({ text: each, question: statistics.question(each, filters.languages) })),
    vector: input.vector === undefined ? undefined : unit(input.vector),
  }
}

/** Loops over positions, because `map` and `for of` create an object for each value. */
function unit(vector: Float32Array): Float32Array {
  let squares = 0
  for (let at = 0; at < vector.length; at++) squares += (vector[at] ?? 0) * (vector[at] ?? 0)
  const scale = 1 / Math.sqrt(squares)
  const scaled = new Float32Array(vector.length)
  for (let at = 0; at < vector.length; at++) scaled[at] = (vector[at] ?? 0) * scale
  return scaled
}

async function findNamed(
  candidates: CandidateSource,
  { input: { text, entitled }, scope }: Query,
  deadline: CallDeadline,
): Promise<NamedRows> {
  return text.trim() === ''
    ? { ids: new Map(), unsupported: [], remainder: '' }
    : candidates.byReference({ text, scope, entitled }, deadline)
}

function bestFirst(rows: Uint32Array, scores: Float64Array, columns: RowColumns): Scored[] {
  const scored: Scored[] = []
  for (let at = 0; at < rows.length; at++) scored.push({ row: rows[at] ?? 0, score: scores[at] ?? 0 })
  return scored.sort(byScore(columns))
}

function rulesOf(statistics: VersionStatistics, { limit, ranking }: SearchInput): Parameters<typeof selectRows>[2] {
  const { collapseRevisionsOn: day, perDocumentMax } = ranking
  return { limit, perDocumentMax, inForce: day === '' ? undefined : statistics.inForceOn(day) }
}

/**
 * Predictors depend on the lexical candidates at a fixed depth, however many passages are wanted, and on the fifty
 * nearest dense candidates of the first round. Up to ten wanted passages give equal values. Hundreds, as in an
 * evaluation, may differ where a search in more lists finds a nearer row (decision 0027).
 */
function predict(
  statistics: VersionStatistics,
  { texts, vector }: Query,
  { rows, byWords, byVector, lexical, asked, dense }: Round,
  namedFigures: (candidates: RoundCandidates) => NamedFigures | undefined,
): readonly number[] {
  const [first] = texts
  if (first === undefined || byWords === undefined || lexical === undefined) return []
  const { passages, columns, tokens, vectorScores } = statistics
  const candidates = byWords.ids.subarray(0, SEARCH_NODE_BOUNDS.predictorCandidatesMax)
  const order = lexicalOrder(new Set(candidates), rows, lexical, columns)
  return predictorsOf({
    texts,
    questionWords: new Set(wordsOf(first.text)).size,
    passages,
    forward: tokens,
    coverage: (...measured) => coverageAboveBackground(statistics, ...measured),
    lexical: { rows: order.map((at) => rows[at] ?? 0), scores: Float64Array.from(order, (at) => lexical[at] ?? 0) },
    dense:
      byVector === undefined || vector === undefined || vectorScores === undefined
        ? NO_ROWS
        : nearest(
            { ...byVector, scores: vectorScores(byVector.scores, vector) },
            SEARCH_NODE_BOUNDS.predictorCandidatesMax,
          ),
    documents: columns.documents,
    named: namedFigures({ byWords: candidates, rows, scores: dense }),
    queryExpansionsOnly: asked === undefined ? 0 : queryExpansionsOnly(rows, lexical, asked, columns),
  })
}

function coverageAboveBackground(
  { ngrams, background, rowNgrams }: VersionStatistics,
  text: string,
  words: readonly number[],
  rows: Uint32Array,
  documentShare: number,
): Coverage {
  const question = ngrams(text)
  const held = Array.from(rows, (row) => heldNgrams(question, rowNgrams(row, question.beginnings)))
  return aboveBackground(coverageOf(words, held, documentShare), question.information, background)
}

/** See the predictor of this name. The first passage is the best by words and query expansions; ties by chunk id. */
function queryExpansionsOnly(
  rows: Uint32Array,
  lexical: Float64Array,
  asked: Float64Array,
  { chunkRanks }: RowColumns,
): number {
  const ranks = Uint32Array.from(rows, (row) => chunkRanks[row] ?? 0)
  const best = createTopK(1, ranks)
  for (let at = 0; at < rows.length; at++) best.offer(at, (lexical[at] ?? 0) + (asked[at] ?? 0))
  const [first] = best.sorted().ids
  return first === undefined ? 0 : Math.max(0, (asked[first] ?? 0) - (lexical[first] ?? 0))
}

/** Positions in `rows` of the wanted rows, best score first; ties by chunk id. */
function lexicalOrder(
  wanted: ReadonlySet<number>,
  rows: Uint32Array,
  scores: Float64Array,
  { chunkRanks }: RowColumns,
): Uint32Array {
  const order = new Uint32Array(wanted.size)
  let found = 0
  for (let at = 0; at < rows.length; at++) if (wanted.has(rows[at] ?? 0)) order[found++] = at
  return order
    .subarray(0, found)
    .sort(
      (a, b) =>
        (scores[b] ?? 0) - (scores[a] ?? 0) || (chunkRanks[rows[a] ?? 0] ?? 0) - (chunkRanks[rows[b] ?? 0] ?? 0),
    )
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

function shownPassage({ passage }: VersionStatistics, { row, score }: Scored, named: NamedRows): FoundPassage {
  const { chunk_id, source_id, provision, text, document, citation, metadata, subjects, position } = passage(row)
  return {
    chunkId: chunk_id,
    text,
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
    documentPassages: position.document_passages,
    named: named.ids.has(row),
    row,
    provision,
    sourceId: source_id,
  }
}
