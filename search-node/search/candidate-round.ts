import { largest } from '#core/index/top-k.ts'
import { SEARCH_NODE_BOUNDS } from '#search-node/bounds.ts'
import type { CallDeadline } from '#search-node/node-error.ts'
import type {
  CandidateSource,
  ScoredCandidates,
  SearchScope,
  VectorCandidates,
  SearchableVersion,
  Query,
  Question,
  RowSet,
  VersionStatistics,
} from './interfaces.ts'
import { withNgrams } from './ngram-rescoring.ts'
import { rescoreRows } from './rescore.ts'

/** Candidates of each ranking that runs, their union, and the scores of the union in parallel columns. */
export interface Round {
  /** Ascending. */
  readonly rows: Uint32Array
  readonly byWords: ScoredCandidates | undefined
  readonly byVector: VectorCandidates | undefined
  /** Undefined: the version has no query expansions, or no lexical ranking. */
  readonly byQueryExpansions: ScoredCandidates | undefined
  /** The first candidates of the dense ranking, best first. */
  readonly nearest: readonly number[]
  /** Scores of rescoring. Undefined: no lexical ranking. */
  readonly lexical: Float64Array | undefined
  /** The same, rescored by n-grams where the version has compounds. Undefined: no lexical ranking. */
  readonly words: Float64Array | undefined
  /** Shares of the best query expansions. Undefined: the version has none, or no lexical ranking. */
  readonly asked: Float64Array | undefined
  /** Undefined: no dense ranking. */
  readonly dense: Float64Array | undefined
}

/** Of the words of a rewriter's second query beside those of its first; see decision 0062. */
const SECOND_TEXT_WEIGHT = 0.5

export interface RoundOptions {
  readonly scope: SearchScope
  /** Rows that are candidates whether or not they are found. */
  readonly extraRows: Iterable<number>
  /** Candidates wanted of each ranking. */
  readonly depth: number
}

/**
 * Finds candidates and scores them. A row's scores do not depend on the other candidates.
 * @param visible rows that count as context of a candidate.
 * @throws NodeError if the source of candidates fails.
 */
export async function runRound(
  { candidates, statistics }: SearchableVersion,
  query: Query,
  visible: RowSet,
  options: RoundOptions,
  deadline: CallDeadline,
): Promise<Round> {
  const extraRows = new Set(options.extraRows)
  const found = await findCandidates(candidates, query, { ...options, extraRows }, deadline)
  const { hasCompounds } = statistics
  // Named rows come first whatever their score, and may be many.
  const isWanted = (row: number): boolean => !extraRows.has(row) && hasCompounds?.(row) === true
  const scored = query.texts.map(({ text, question }) => {
    const lexical = rescore(statistics, question, visible, found.rows)
    const words = hasCompounds ? withNgrams(statistics, text, found.rows, lexical, isWanted) : lexical
    return { lexical, words }
  })
  const [first] = query.texts
  return {
    ...found,
    lexical: weighedMean(scored.map(({ lexical }) => lexical)),
    words: weighedMean(scored.map(({ words }) => words)),
    asked: first && statistics.queryExpansionShares(first.text, found.rows),
    dense: vectorScoresOf(statistics, query, found),
  }
}

/** @param scores of each text, best text first. @returns undefined without a text. */
function weighedMean(scores: readonly Float64Array[]): Float64Array | undefined {
  const [first, second] = scores
  if (first === undefined || second === undefined) return first
  return first.map((score, at) => (score + SECOND_TEXT_WEIGHT * (second[at] ?? 0)) / (1 + SECOND_TEXT_WEIGHT))
}

/** Whether no ranking has candidates beyond those of the round. */
export function isExhausted({ byWords, byVector, byQueryExpansions }: Round, depth: number): boolean {
  return (
    (byWords?.ids.length ?? 0) < wordDepth(depth) &&
    (byVector?.ids.length ?? 0) < depth &&
    (byQueryExpansions?.ids.length ?? 0) < wordDepth(depth)
  )
}

function wordDepth(depth: number): number {
  return Math.max(depth, SEARCH_NODE_BOUNDS.predictorCandidatesMax)
}

/**
 * The candidates that no other row outranks in their ranking. A dense list is exact only as deep as was asked for;
 * behind it, a row of it may be farther than a row that it lacks.
 */
export function finalRows({ byWords, byQueryExpansions, nearest }: Round, depth: number): readonly number[] {
  return [...(byWords?.ids ?? []), ...(byQueryExpansions?.ids ?? []), ...nearest.slice(0, depth)]
}

function nearestRows(byVector: VectorCandidates | undefined, depth: number): readonly number[] {
  return byVector === undefined ? [] : Array.from(largest(byVector.scores, depth).ids, (at) => byVector.ids[at] ?? 0)
}

type Found = Pick<Round, 'rows' | 'byWords' | 'byVector' | 'byQueryExpansions' | 'nearest'>

async function findCandidates(
  candidates: CandidateSource,
  { input, texts: [first], vector }: Query,
  { scope, extraRows, depth }: RoundOptions,
  deadline: CallDeadline,
): Promise<Found> {
  const { rowsScoredMin } = input.ranking
  // Vectors first: their candidates may come from a longer list by words.
  const byVector =
    vector === undefined ? undefined : await candidates.byVector({ vector, scope, depth, rowsScoredMin }, deadline)
  const byWords =
    first === undefined
      ? undefined
      : await candidates.byWords({ question: first.question, scope, depth: wordDepth(depth) }, deadline)
  const byQueryExpansions =
    first === undefined
      ? undefined
      : await candidates.byQueryExpansions({ text: first.text, scope, depth: wordDepth(depth) }, deadline)
  const nearest = nearestRows(byVector, Math.max(depth, SEARCH_NODE_BOUNDS.vectorCandidatesMin))
  const rows = distinctRows([byWords?.ids ?? [], byQueryExpansions?.ids ?? [], nearest, [...extraRows]])
  return { rows, byWords, byVector, byQueryExpansions, nearest }
}

/** The rows of all lists, ascending. */
function distinctRows(lists: readonly ArrayLike<number>[]): Uint32Array {
  const all = new Uint32Array(lists.reduce((sum, { length }) => sum + length, 0))
  let filled = 0
  for (const list of lists) {
    all.set(list, filled)
    filled += list.length
  }
  all.sort()
  return all.filter((row, at) => at === 0 || row !== all[at - 1])
}

/** @param visible rows that count as context. */
function rescore(
  { passages, columns, tokens }: VersionStatistics,
  question: Question,
  visible: RowSet,
  rows: Uint32Array,
): Float64Array {
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
  return statistics.vectorScores?.(cosinesOf(statistics, vector, rows, byVector), vector)
}

/** Cosines of all candidates; those of the dense candidates are known. */
function cosinesOf(
  statistics: VersionStatistics,
  vector: Float32Array,
  rows: Uint32Array,
  { ids, scores }: VectorCandidates,
): Float64Array {
  const all = new Float64Array(rows.length)
  const others = { rows: new Uint32Array(rows.length), positions: new Uint32Array(rows.length) }
  let [known, unknown] = [0, 0]
  for (let at = 0; at < rows.length; at++) {
    const row = rows[at] ?? 0
    while ((ids[known] ?? Infinity) < row) known += 1
    if (ids[known] === row) all[at] = scores[known] ?? 0
    else {
      others.rows[unknown] = row
      others.positions[unknown++] = at
    }
  }
  const ofOthers = statistics.cosines(others.rows.subarray(0, unknown), vector)
  for (let other = 0; other < unknown; other++) all[others.positions[other] ?? 0] = ofOthers[other] ?? 0
  return all
}
