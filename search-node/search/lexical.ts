import { CHUNK_ROWS } from '#core/artifact/lexical-layout.ts'
import { createBestRows } from './lexical-best.ts'
import type { BestRows } from './lexical-best.ts'
import { addToCandidates, addUp, clearSums, forEachCandidate, keepCandidates, takeAllowed, takeRows, takeSums } from './lexical-chunk.ts'
import type { LexicalGroup, LexicalQuery } from './lexical-query.ts'

/** Words of a filter that stand for a chunk's rows, and those for 2,048 of them. */
const WORDS_PER_CHUNK = CHUNK_ROWS / 32
const PIECE_WORDS = 64
/** Looking up one allowed row in one list costs as much as adding up this many postings. */
const LOOK_UP_POSTINGS = 12
/** Of filters that are still in use. */
const allowedCounts = new WeakMap<Uint32Array, Uint32Array>()

/**
 * The best `wanted` of the allowed rows that hold any word of the question, best first, of equal scores the smaller row first. Exact: a row is passed over only
 * when the largest impacts of the words that it may hold cannot bring it among the best (MaxScore: Turtle & Flood 1995, with a bound for each chunk of rows).
 * @param allowed bit row % 32 of word row / 32; not changed afterwards. @returns rows, and scores in SCORE_UNIT.
 */
export function searchLexical(query: LexicalQuery, allowed: Uint32Array, wanted: number): { readonly rows: Uint32Array; readonly scores: Uint32Array } {
  const best = createBestRows(wanted)
  const groups = knownGroups(query).toSorted((a, b) => b.maximum - a.maximum)
  if (wanted === 0 || groups.length === 0) return best.sorted()
  for (const [chunk, allowedRows] of countsByChunk(allowed).entries())
    if (allowedRows > 0) searchChunk(groups, chunk, allowed.subarray(chunk * WORDS_PER_CHUNK, (chunk + 1) * WORDS_PER_CHUNK), allowedRows, best)
  return best.sorted()
}

/**
 * What each word of the question adds to each of the given rows, in SCORE_UNIT: first all words of the first row. The sum over its words is a row's score.
 * @param rows in any order.
 */
export function lexicalContributions(query: LexicalQuery, rows: Uint32Array): Uint32Array {
  const width = query.groups.length
  const contributions = new Uint32Array(rows.length * width)
  rewind(query.groups)
  for (const [chunk, places] of placesByChunk(rows)) {
    for (const [word, group] of query.groups.entries()) {
      if (boundIn(chunk, group) === 0) continue
      takeRows(places.map((place) => rows[place] ?? 0))
      addToCandidates(group)
      let next = 0
      forEachCandidate((_row, score) => (contributions[(places[next++] ?? 0) * width + word] = score))
    }
  }
  return contributions
}

/** Where in the list the rows of each chunk stand; chunks ascending, and within each its rows. */
function placesByChunk(rows: Uint32Array): Map<number, number[]> {
  const places = new Map<number, number[]>()
  for (const place of [...rows.keys()].sort((a, b) => (rows[a] ?? 0) - (rows[b] ?? 0))) {
    const chunk = Math.floor((rows[place] ?? 0) / CHUNK_ROWS)
    const known = places.get(chunk)
    if (known === undefined) places.set(chunk, [place])
    else known.push(place)
  }
  return places
}

/** Scores of the given rows, in SCORE_UNIT. */
export function scoreRows(query: LexicalQuery, rows: Uint32Array): Uint32Array {
  const contributions = lexicalContributions(query, rows)
  const width = query.groups.length
  return Uint32Array.from(rows, (_, at) => contributions.subarray(at * width, (at + 1) * width).reduce((sum, contribution) => sum + contribution, 0))
}

function knownGroups({ groups }: LexicalQuery): readonly LexicalGroup[] {
  rewind(groups)
  return groups.filter(({ frequency }) => frequency > 0)
}

function rewind(groups: readonly LexicalGroup[]): void {
  for (const { lists } of groups) for (const list of lists) list.rewind()
}

/** The most that a word adds to a row of the chunk. */
function boundIn(chunk: number, { lists, weight }: LexicalGroup): number {
  let impactMax = 0
  for (const list of lists) impactMax = Math.max(impactMax, list.seek(chunk))
  return impactMax * weight
}

/** @param groups those that add most first. @param allowed bits of the chunk. */
function searchChunk(groups: readonly LexicalGroup[], chunk: number, allowed: Uint32Array, allowedRows: number, best: BestRows): void {
  const threshold = best.threshold()
  const bounds = groups.map((group) => boundIn(chunk, group))
  /** What a row gains at most from the words from a place on. */
  const rest = new Float64Array(groups.length + 1)
  for (let place = groups.length - 1; place >= 0; place--) rest[place] = (rest[place + 1] ?? 0) + (bounds[place] ?? 0)
  if (rest[0] === 0 || (rest[0] ?? 0) < threshold) return

  /** Looks up the words from a place on for the candidates, and offers those that are left. */
  const complete = (from: number): void => {
    for (let place = from; place < groups.length; place++) {
      const group = groups[place]
      if (group !== undefined && (bounds[place] ?? 0) > 0) addToCandidates(group)
      if (keepCandidates(threshold - (rest[place + 1] ?? 0)) === 0) return
    }
    forEachCandidate((row, score) => {
      if (score > 0) best.offer(chunk * CHUNK_ROWS + row, score)
    })
  }
  const { essential, postings } = essentialGroups(groups, rest, threshold)
  if (allowedRows * groups.length * LOOK_UP_POSTINGS < postings) {
    takeAllowed(allowed)
    return complete(0)
  }
  try {
    for (const group of groups.slice(0, essential)) addUp(group)
    // Where nothing is left to look up, the threshold rises piece by piece, so that of the first chunk not every row is offered.
    const pieceWords = essential === groups.length ? PIECE_WORDS : allowed.length
    for (let word = 0; word < allowed.length; word += pieceWords) {
      takeSums(allowed, word, Math.min(word + pieceWords, allowed.length), Math.max(1, best.threshold() - (rest[essential] ?? 0)))
      complete(essential)
    }
  } finally {
    clearSums()
  }
}

/**
 * The words whose postings are added up: a row that holds none of those before place `essential` cannot get in. Beyond what that takes, words whose
 * postings are cheaper to add up than to look up for every row found so far.
 */
function essentialGroups(groups: readonly LexicalGroup[], rest: Float64Array, threshold: number): { readonly essential: number; readonly postings: number } {
  let [essential, postings] = [0, 0]
  for (const [place, { lists }] of groups.entries()) {
    const count = lists.reduce((sum, list) => sum + list.count, 0)
    if ((rest[place] ?? 0) < threshold && count > postings * LOOK_UP_POSTINGS) break
    essential = place + 1
    postings += count
  }
  return { essential, postings }
}

/** How many rows of each chunk are allowed; filters come again, so it is counted once for each. */
function countsByChunk(allowed: Uint32Array): Uint32Array {
  const known = allowedCounts.get(allowed)
  if (known !== undefined) return known
  const counts = new Uint32Array(Math.ceil(allowed.length / WORDS_PER_CHUNK))
  for (let word = 0; word < allowed.length; word++) {
    const chunk = Math.floor(word / WORDS_PER_CHUNK)
    counts[chunk] = (counts[chunk] ?? 0) + countBits(allowed[word] ?? 0)
  }
  allowedCounts.set(allowed, counts)
  return counts
}

function countBits(bits: number): number {
  const pairs = bits - ((bits >>> 1) & 0x5555_5555)
  const fours = (pairs & 0x3333_3333) + ((pairs >>> 2) & 0x3333_3333)
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24
}
