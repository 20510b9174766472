import { CHUNK_ROWS } from '#core/index/lexical/layout.ts'
import { countBits } from '#core/index/bitset.ts'
import { createTopK, type Ranked, type TopK } from '#core/index/top-k.ts'
import { ChunkScorer } from './chunk-scorer.ts'
import type { LexicalGroup, LexicalQuery } from './query.ts'

/** Words of a filter bitset per chunk. */
const WORDS_PER_CHUNK = CHUNK_ROWS / 32
/** Looking up one allowed row in one list costs as much as accumulating this many postings. */
const LOOK_UP_POSTINGS = 12
/** A thread scores one question at a time. */
const scorer = new ChunkScorer()
/** Allowed rows per chunk, for filters that are still in use. */
const allowedCounts = new WeakMap<Uint32Array, Uint32Array>()

/**
 * Returns the best `wanted` allowed rows that hold any word of the question, best first; ties: the lower rank first.
 * Exact: a row is skipped only if the largest impacts of the words that it may hold cannot bring it among the best
 * (MaxScore: Turtle & Flood 1995, with a bound for each chunk of rows).
 * @param allowed bit row % 32 of word row / 32; not changed afterwards. @param ranks of all rows; absent: the rows themselves.
 * @returns rows as ids, and scores in SCORE_UNIT.
 */
export function searchLexical(query: LexicalQuery, allowed: Uint32Array, wanted: number, ranks?: Uint32Array): Ranked {
  const best = createTopK(wanted, ranks)
  const groups = knownGroups(query).toSorted((a, b) => b.maximum - a.maximum)
  if (wanted === 0 || groups.length === 0) return best.sorted()
  for (const [chunk, allowedCount] of countsByChunk(allowed).entries())
    if (allowedCount > 0)
      searchChunk(
        groups,
        chunk,
        allowed.subarray(chunk * WORDS_PER_CHUNK, (chunk + 1) * WORDS_PER_CHUNK),
        allowedCount,
        best,
      )
  return best.sorted()
}

function knownGroups({ groups }: LexicalQuery): readonly LexicalGroup[] {
  for (const { lists } of groups) for (const list of lists) list.rewind()
  return groups.filter(({ frequency }) => frequency > 0)
}

/** Upper bound of what a word adds to a row of the chunk. */
function boundIn(chunk: number, { lists, weight }: LexicalGroup): number {
  let impactMax = 0
  for (const list of lists) impactMax = Math.max(impactMax, list.seek(chunk))
  return impactMax * weight
}

interface ChunkBounds {
  /** In descending order of their maximum. */
  readonly groups: readonly LexicalGroup[]
  /** Upper bound of what the words from an index on add. */
  readonly rest: Float64Array
  /** A row that scores less is not among the best. */
  readonly threshold: number
}

function boundsIn(chunk: number, groups: readonly LexicalGroup[], threshold: number): ChunkBounds {
  const rest = new Float64Array(groups.length + 1)
  for (let term = 0; term < groups.length; term++) {
    const group = groups[term]
    if (group !== undefined) rest[term] = boundIn(chunk, group)
  }
  for (let term = groups.length - 1; term >= 0; term--) rest[term] = (rest[term] ?? 0) + (rest[term + 1] ?? 0)
  return { groups, rest, threshold }
}

/** @param groups in descending order of their maximum. @param allowed bits of the chunk. */
function searchChunk(
  groups: readonly LexicalGroup[],
  chunk: number,
  allowed: Uint32Array,
  allowedCount: number,
  best: TopK,
): void {
  const bounds = boundsIn(chunk, groups, best.threshold())
  const { rest, threshold } = bounds
  if (rest[0] === 0 || (rest[0] ?? 0) < threshold) return
  const first = chunk * CHUNK_ROWS
  const { essential, postings } = essentialGroups(bounds)
  if (allowedCount * groups.length * LOOK_UP_POSTINGS < postings) {
    scorer.collectAllowed(allowed)
    if (lookUp(bounds, 0)) scorer.offerCandidates(first, best)
    return
  }
  try {
    for (const group of groups.slice(0, essential)) scorer.accumulate(group)
    if (essential === groups.length) return scorer.offerAccumulated(allowed, first, best)
    scorer.collectAccumulated(allowed, Math.max(1, threshold - (rest[essential] ?? 0)))
    if (lookUp(bounds, essential)) scorer.offerCandidates(first, best)
  } finally {
    scorer.clear(allowed.length * 32)
  }
}

/** Looks up the words from an index on for the candidates. @returns whether any candidate is left. */
function lookUp({ groups, rest, threshold }: ChunkBounds, from: number): boolean {
  for (let term = from; term < groups.length; term++) {
    const group = groups[term]
    const after = rest[term + 1] ?? 0
    // The bounds are integers, so a word without postings in the chunk adds exactly nothing.
    if (group !== undefined && (rest[term] ?? 0) > after) scorer.addToCandidates(group)
    if (scorer.pruneCandidates(threshold - after) === 0) return false
  }
  return true
}

/**
 * The essential words: a row without any word before index `essential` cannot reach the threshold. Further words are
 * included if accumulating their postings is cheaper than looking up every row found so far.
 */
function essentialGroups({ groups, rest, threshold }: ChunkBounds) {
  let [essential, postings] = [0, 0]
  for (const { lists } of groups) {
    let count = 0
    for (const list of lists) count += list.count
    if ((rest[essential] ?? 0) < threshold && count > postings * LOOK_UP_POSTINGS) break
    essential += 1
    postings += count
  }
  return { essential, postings }
}

/** Number of allowed rows in each chunk; counted once per filter, because filters recur. */
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
