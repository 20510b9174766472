import { join } from 'node:path'
import { bitsetWords } from '#core/index/bitset.ts'
import { createResidentParts } from '#core/index/storage/resident-parts.ts'
import { largest } from '#core/index/top-k.ts'
import type { VectorFile } from './blocks.ts'
import { openCentroids } from './ivf-reader.ts'
import { ListSpread, firstLists } from './list-spread.ts'
import { NPROBE_RECALL, DEVIATIONS_RECALL, type IvfDescription } from './ivf-layout.ts'
import { openSq4, type Sq4Reader } from './sq4-reader.ts'
import type { Sq4Scan } from './sq4-scan.ts'
import type { IvfLists } from './k-means.ts'
import { openRows, type RowFile } from './row-file.ts'

/** Depths for which a build measures how far a search has to go. */
const DEPTHS = [10, 100, 1_000] as const
const [NEAREST, , DEEPEST] = DEPTHS
/**
 * Under a filter that excludes the nearest rows, the wanted ones lie in lists that are all about as near. Of
 * normally distributed rows, one in 13,822 lies farther above its mean.
 */
const DEVIATIONS_MIN = 3.8
/** The deviation of rows that are all equal to the centroids of their lists. */
const DEVIATION_MIN = 1e-6

/**
 * Measures how many lists a search has to probe. The true nearest rows come from a scan of all SQ4 vectors, scored
 * in float32.
 * @param folder with `vectors.f32`, `vectors.sq4` and `centroids.sq4`. @param queries unit length.
 */
export async function measureIvf(
  folder: string,
  file: VectorFile,
  lists: IvfLists,
  queries: readonly Float32Array[],
  pause: () => Promise<void>,
): Promise<Pick<IvfDescription, 'nprobe' | 'deviations'>> {
  const { rows, dimensions } = file
  const count = lists.starts.length - 1
  const listOf = listOfRows(lists)
  /** How many of the true ten nearest rows lie in the list of each rank. */
  const ranks = new Float64Array(count)
  const deviations = DEPTHS.map((): number[] => [])
  const parts = createResidentParts()
  const centroids = openCentroids(folder, count, dimensions, parts)
  using opened = new DisposableStack()
  const sq4 = opened.adopt(openSq4({ path: join(folder, 'vectors.sq4') }, rows, dimensions), (open) => open.close())
  const exact = opened.adopt(openRows(file, parts), (open) => open.close())
  for (const query of queries) {
    await pause()
    const nearest = nearestOf(query, lists, sq4, exact)
    const scan = sq4.scan(query, { candidates: 0, threshold: 1 })
    const products = centroids.products(scan.query)
    const spread = spreadNear(scan, lists, lists.graph.nearest(query, firstLists(rows, count)))
    const upperBounds = products.map((product, at) => product + DEVIATIONS_MIN * spread * (lists.radii[at] ?? 0))
    countRanks(ranks, upperBounds, nearest.rows.subarray(0, NEAREST), listOf)
    addDeviations(deviations, nearest, (row) => {
      const at = listOf[row] ?? 0
      return { product: products[at] ?? 0, deviation: spread * (lists.radii[at] ?? 0) }
    })
  }
  return {
    nprobe: fewestWith(NPROBE_RECALL, ranks),
    deviations: Math.max(DEVIATIONS_MIN, ...deviations.map((ofDepth) => quantile(ofDepth, DEVIATIONS_RECALL))),
  }
}

function listOfRows({ starts, rows }: IvfLists): Uint32Array {
  const listOf = new Uint32Array(rows.length)
  for (let list = 0; list + 1 < starts.length; list++)
    for (const row of rows.subarray(starts[list], starts[list + 1])) listOf[row] = list
  return listOf
}

/** Measures the first lists of a query, as a search does. */
function spreadNear(scan: Sq4Scan, { starts, radii, rows }: IvfLists, first: Uint32Array): number {
  const spread = new ListSpread()
  const none = new Uint32Array(bitsetWords(rows.length))
  for (const list of first) {
    if (spread.isMeasured) break
    const [from, to] = [starts[list] ?? 0, starts[list + 1] ?? 0]
    spread.add(to - from, scan.addAndMeasure(none, from, to), radii[list] ?? 0)
  }
  return spread.deviation
}

/** Counts rows at the rank of their list, the list of the largest value first. */
function countRanks(counts: Float64Array, values: Float32Array, rows: Uint32Array, listOf: Uint32Array): void {
  const rankOf = new Uint32Array(values.length)
  for (const [rank, at] of largest(values, values.length).ids.entries()) rankOf[at] = rank
  for (const row of rows) {
    const rank = rankOf[listOf[row] ?? 0] ?? 0
    counts[rank] = (counts[rank] ?? 0) + 1
  }
}

/** @param listOf the product with the centroid of a row's list, and the deviation of its rows. */
function addDeviations(
  deviations: readonly number[][],
  { rows, scores, ofMean }: ReturnType<typeof nearestOf>,
  listOf: (row: number) => { readonly product: number; readonly deviation: number },
): void {
  for (const [at, depth] of DEPTHS.entries()) {
    const least = (scores[Math.min(depth, rows.length) - 1] ?? 0) - ofMean
    for (const row of rows.subarray(0, depth)) {
      const { product, deviation } = listOf(row)
      deviations[at]?.push((least - product) / Math.max(DEVIATION_MIN, deviation))
    }
  }
}

function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1] ?? 0
}

/** How many of the first counts hold this share of all. */
function fewestWith(share: number, counts: Float64Array): number {
  const wanted = share * counts.reduce((sum, each) => sum + each, 0)
  let found = 0
  return counts.findIndex((count) => (found += count) >= wanted) + 1
}

/**
 * @returns rows nearest first, with their cosines. `ofMean`: the cosine of the mean of all rows, by which a search of
 * the SQ4 vectors is off.
 */
function nearestOf(query: Float32Array, { rows: rowOf }: IvfLists, sq4: Sq4Reader, exact: RowFile) {
  const scan = sq4.scan(query, { candidates: DEEPEST, threshold: NEAREST })
  scan.add(allPositions(rowOf.length), 0, rowOf.length)
  const rows = scan
    .rows()
    .map((position) => rowOf[position] ?? 0)
    .sort()
  const { ids, scores } = largest(exact.cosines(rows, query), DEEPEST)
  const tenth = scores[Math.min(NEAREST, scores.length) - 1] ?? 0
  return { rows: ids.map((at) => rows[at] ?? 0), scores, ofMean: tenth - scan.threshold() }
}

function allPositions(rows: number): Uint32Array {
  const bits = new Uint32Array(bitsetWords(rows)).fill(0xffff_ffff)
  if (rows % 32 !== 0) bits[bits.length - 1] = 2 ** (rows % 32) - 1
  return bits
}
