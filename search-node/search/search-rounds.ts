import { assertNotExpired, type CallDeadline } from '#search-node/node-error.ts'
import type { SearchableVersion, Query, RowColumns, RowSet } from './interfaces.ts'
import { isExhausted, runRound, finalRows, type Round } from './candidate-round.ts'

/** A reply may need more candidates than passages, because revisions collapse or documents are capped. */
const CANDIDATE_FACTOR = 2
const DEPTH_FACTOR = 4
/** Candidates of each ranking that all rounds of one search ask for; a longer list may stay incomplete. */
const CANDIDATES_MAX = 10_000

/** Candidates with their scores in parallel columns. */
export type ScoredRows = Pick<Round, 'rows' | 'words' | 'asked' | 'dense'>

/**
 * Searches in rounds until `limit` passages are selected, nothing more can be selected, or CANDIDATES_MAX candidates
 * were asked for. A further round leaves out candidates of earlier rounds, documents at their cap and provisions that
 * are shown, so the number of rounds depends on the reply and not on the size of a document.
 * @param extraRows rows that are candidates in any case. @param select the passages of a reply, best first.
 * @returns `first`: the candidates of the query alone, whatever was left to fill.
 * @throws NodeError if the source of candidates fails, or between rounds once the deadline has passed.
 */
export async function searchInRounds(
  version: SearchableVersion,
  query: Query,
  visible: RowSet,
  extraRows: Iterable<number>,
  select: (candidates: ScoredRows) => readonly Scored[],
  deadline: CallDeadline,
) {
  const { limit, ranking } = query.input
  let depth = limit * CANDIDATE_FACTOR
  const first = await runRound(version, query, visible, { scope: query.scope, extraRows, depth }, deadline)
  let candidates: ScoredRows = first
  let selected = select(candidates)
  let last = first
  const final = new Set<number>()
  for (let asked = depth; selected.length < limit && asked < CANDIDATES_MAX && !isExhausted(last, depth);) {
    assertNotExpired(deadline)
    for (const row of finalRows(last, depth)) final.add(row)
    const rest = visible.narrowed(
      isLeft(version.statistics.columns, ranking, { found: candidates.rows, final, selected }),
    )
    if (rest.count === 0) break
    const scope = { ...query.scope, onlyRows: rest.rows, collapseRevisionsOn: '' }
    depth = Math.min(depth * DEPTH_FACTOR, CANDIDATES_MAX - asked)
    asked += depth
    last = await runRound(version, query, visible, { scope, extraRows: [], depth }, deadline)
    if (last.rows.length === 0) break
    candidates = joined(candidates, last)
    selected = select(candidates)
  }
  return { first, selected }
}

function joined(one: ScoredRows, other: ScoredRows): ScoredRows {
  const scores = (a: Float64Array | undefined, b: Float64Array | undefined): Float64Array | undefined =>
    a === undefined || b === undefined ? undefined : Float64Array.of(...a, ...b)
  return {
    rows: Uint32Array.of(...one.rows, ...other.rows),
    words: scores(one.words, other.words),
    asked: scores(one.asked, other.asked),
    dense: scores(one.dense, other.dense),
  }
}

interface Progress {
  readonly found: Uint32Array
  /** See `finalRows`. */
  readonly final: ReadonlySet<number>
  readonly selected: readonly Scored[]
}

/**
 * Whether a row is looked for: it is not found, its document is below the cap, and, where revisions collapse, no row of
 * its provision is found. Documents and provisions are decided by final rows alone.
 */
function isLeft(
  { documents, provisions }: Pick<RowColumns, 'documents' | 'provisions'>,
  { perDocumentMax, collapseRevisionsOn }: Query['input']['ranking'],
  { found, final, selected }: Progress,
): (row: number) => boolean {
  const before = new Set(found)
  const shown = new Map<number, number>()
  for (const { row } of selected)
    if (final.has(row)) shown.set(documents[row] ?? 0, (shown.get(documents[row] ?? 0) ?? 0) + 1)
  const full = new Set([...shown].filter(([, count]) => count === perDocumentMax).map(([document]) => document))
  const known = new Set(collapseRevisionsOn === '' ? [] : Array.from(final, (row) => provisions[row] ?? 0))
  return (row) => !before.has(row) && !full.has(documents[row] ?? 0) && !known.has(provisions[row] ?? 0)
}

export interface Scored {
  readonly row: number
  readonly score: number
}

export interface SelectRules {
  readonly limit: number
  /** Maximum of rows of one document; 0: no cap. */
  readonly perDocumentMax: number
  /** Whether a row is in force on the day by which revisions collapse; undefined: every revision is shown. */
  readonly inForce: ((row: number) => boolean) | undefined
}

/** Best score first; ties by chunk id. */
export function byScore({ chunkRanks }: Pick<RowColumns, 'chunkRanks'>): (a: Scored, b: Scored) => number {
  return (a, b) => b.score - a.score || (chunkRanks[a.row] ?? 0) - (chunkRanks[b.row] ?? 0)
}

/**
 * Selects the rows of a reply: of each provision the revision in force, or else its best one; of each document at most
 * the cap; the `limit` best of these.
 * @param ranked in the order of `byScore`.
 */
export function selectRows(
  ranked: readonly Scored[],
  { documents, provisions }: Pick<RowColumns, 'documents' | 'provisions'>,
  rules: SelectRules,
): Scored[] {
  const shown = rules.inForce === undefined ? undefined : shownRevisions(ranked, provisions, rules.inForce)
  const ofDocument = new Map<number, number>()
  const selected: Scored[] = []
  for (const candidate of ranked) {
    if (selected.length === rules.limit) break
    if (shown !== undefined && shown.get(provisions[candidate.row] ?? 0) !== candidate.row) continue
    const document = documents[candidate.row] ?? 0
    const before = ofDocument.get(document) ?? 0
    if (rules.perDocumentMax !== 0 && before >= rules.perDocumentMax) continue
    ofDocument.set(document, before + 1)
    selected.push(candidate)
  }
  return selected
}

/** The row shown for each provision. */
function shownRevisions(
  ranked: readonly Scored[],
  provisions: Uint32Array,
  inForce: (row: number) => boolean,
): Map<number, number> {
  const shown = new Map<number, number>()
  for (const { row } of ranked) {
    const provision = provisions[row] ?? 0
    const known = shown.get(provision)
    if (known === undefined || (!inForce(known) && inForce(row))) shown.set(provision, row)
  }
  return shown
}
