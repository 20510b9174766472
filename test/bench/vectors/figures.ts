import { Index, MetricKind, ScalarKind, exactSearch } from 'usearch'
import { meanOf, principalDirections, projected } from './principal.ts'

/** Passages and questions of one space, unit vectors one after the other. */
export interface VectorSet {
  readonly dimensions: number
  readonly passages: Float32Array<ArrayBuffer>
  readonly questions: Float32Array<ArrayBuffer>
}

/** A figure by its name, in the order of the table. */
export type Figures = ReadonlyMap<string, number>

const K = 10
const NEIGHBOURS = [1, 10, 100] as const
const QUANTILES = [0.05, 0.5, 0.95] as const
/** Passages whose neighbours among all passages are measured. */
const SAMPLED_PASSAGES = 500
const DIRECTIONS = [16, 64, 128] as const
const PROJECTIONS = [64, 128] as const
const PROJECTED_CANDIDATES = [68, 120] as const
const GRAPHS = [
  { connectivity: 16, expansion: 128 },
  { connectivity: 32, expansion: 256 },
] as const
const EXPANSIONS = [128, 256, 512, 1_024] as const

/** What decides how hard a set is to search: its shape, and what simple structures find of the true ten. */
export function figuresOf(set: VectorSet): Figures {
  const figures = new Map<string, number>()
  const { dimensions, passages, questions } = set
  figures.set('length of the mean', Math.hypot(...meanOf(passages, dimensions)))
  const principal = principalDirections(passages, dimensions, Math.max(...DIRECTIONS))
  for (const count of DIRECTIONS)
    figures.set(
      `variance held by ${count} directions`,
      principal.shares.slice(0, count).reduce((sum, share) => sum + share, 0),
    )
  const truth = neighbours(passages, questions, dimensions)
  addCosines(figures, 'question', truth)
  const all = cosinesOfSome(set)
  figures.set('cosine of a question with any passage, mean', all.mean)
  figures.set('standard deviation deviations a question', all.deviation)
  addCosines(figures, 'passage', neighboursOfPassages(set))
  const tens = truth.map(({ rows }) => new Set(rows.slice(0, K)))
  figures.set('skew of how often a passage is among the ten', skewOf(tens, passages.length / dimensions))
  for (const kept of PROJECTIONS) {
    const [rows, asked] = [passages, questions].map((values) => projected(values, principal, dimensions, kept))
    if (rows === undefined || asked === undefined || kept > dimensions) continue
    const most = Math.max(...PROJECTED_CANDIDATES)
    const found = lists(exactSearch(rows, asked, kept, most, MetricKind.L2sq, 0).keys, most)
    for (const candidates of PROJECTED_CANDIDATES)
      figures.set(`true ten, ${candidates} candidates by projections of ${kept}`, shareFound(found, tens, candidates))
  }
  for (const graph of GRAPHS) addGraph(figures, set, graph, tens)
  return figures
}

interface Nearest {
  readonly rows: readonly number[]
  readonly cosines: readonly number[]
}

/** The nearest hundred and more passages of each question. */
function neighbours(passages: Float32Array, questions: Float32Array, dimensions: number): readonly Nearest[] {
  const most = Math.min(Math.max(...NEIGHBOURS) + 1, passages.length / dimensions)
  const { keys, distances } = exactSearch(passages, questions, dimensions, most, MetricKind.IP, 0)
  return lists(keys, most).map((rows, at) => ({
    rows,
    cosines: Array.from(distances.subarray(at * most, (at + 1) * most), (distance) => 1 - distance),
  }))
}

function lists(keys: ArrayLike<bigint>, each: number): readonly (readonly number[])[] {
  return Array.from({ length: keys.length / each }, (_, at) =>
    Array.from({ length: each }, (_unused, rank) => Number(keys[at * each + rank])),
  )
}

/** The passage itself is left out. */
function neighboursOfPassages({ passages, dimensions }: VectorSet): readonly Nearest[] {
  const count = passages.length / dimensions
  const sampled = Math.min(SAMPLED_PASSAGES, count)
  const step = Math.floor(count / sampled)
  const asked = new Float32Array(sampled * dimensions)
  for (let at = 0; at < sampled; at++)
    asked.set(passages.subarray(at * step * dimensions, (at * step + 1) * dimensions), at * dimensions)
  return neighbours(passages, asked, dimensions).map(({ rows, cosines }) => ({
    rows: rows.slice(1),
    cosines: cosines.slice(1),
  }))
}

function addCosines(figures: Map<string, number>, of: string, nearest: readonly Nearest[]): void {
  for (const rank of NEIGHBOURS) {
    const sorted = nearest.map(({ cosines }) => cosines[rank - 1] ?? 0).sort((a, b) => a - b)
    for (const quantile of QUANTILES)
      figures.set(
        `cosine of a ${of} with its nearest ${rank}, quantile ${quantile}`,
        sorted[Math.floor(quantile * sorted.length)] ?? 0,
      )
  }
}

/** Over every question and at most a thousand passages. */
function cosinesOfSome({ passages, questions, dimensions }: VectorSet): { mean: number; deviation: number } {
  const count = passages.length / dimensions
  const step = Math.max(1, Math.floor(count / 1_000))
  let [sum, squares, pairs, deviations] = [0, 0, 0, 0]
  for (let question = 0; question < questions.length; question += dimensions) {
    let [ownSum, ownSquares, own] = [0, 0, 0]
    for (let row = 0; row < count; row += step, own++) {
      let dot = 0
      for (let d = 0; d < dimensions; d++) dot += (passages[row * dimensions + d] ?? 0) * (questions[question + d] ?? 0)
      ownSum += dot
      ownSquares += dot * dot
    }
    sum += ownSum
    pairs += own
    deviations += Math.sqrt(ownSquares / own - (ownSum / own) ** 2)
    squares++
  }
  return { mean: sum / pairs, deviation: deviations / squares }
}

function skewOf(tens: readonly ReadonlySet<number>[], passages: number): number {
  const counts = new Float64Array(passages)
  for (const ten of tens) for (const row of ten) counts[row] = (counts[row] ?? 0) + 1
  const mean = counts.reduce((sum, count) => sum + count, 0) / passages
  const moment = (power: number): number => counts.reduce((sum, count) => sum + (count - mean) ** power, 0) / passages
  return moment(3) / moment(2) ** 1.5
}

function shareFound(
  found: readonly (readonly number[])[],
  tens: readonly ReadonlySet<number>[],
  candidates: number,
): number {
  let right = 0
  for (const [at, rows] of found.entries())
    right += rows.slice(0, candidates).filter((row) => tens[at]?.has(row) === true).length
  return right / tens.reduce((sum, ten) => sum + ten.size, 0)
}

/** A graph over whole vectors in signed bytes, as usearch builds it with one thread. */
function addGraph(
  figures: Map<string, number>,
  { passages, questions, dimensions }: VectorSet,
  { connectivity, expansion }: (typeof GRAPHS)[number],
  tens: readonly ReadonlySet<number>[],
): void {
  const graph = new Index({
    dimensions,
    metric: MetricKind.Cos,
    quantization: ScalarKind.I8,
    connectivity,
    expansion_add: expansion,
    expansion_search: K,
    multi: false,
  })
  graph.add(
    BigUint64Array.from({ length: passages.length / dimensions }, (_, row) => BigInt(row)),
    passages,
    1,
  )
  for (const candidates of EXPANSIONS) {
    const found = tens.map((_, at) => {
      const { keys } = graph.search(questions.slice(at * dimensions, (at + 1) * dimensions), candidates, 1)
      return Array.from(keys, Number)
    })
    figures.set(
      `true ten, graph of connectivity ${connectivity}, expansion ${candidates}`,
      shareFound(found, tens, candidates),
    )
  }
}
