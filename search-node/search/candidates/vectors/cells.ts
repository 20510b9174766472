import { MetricKind, exactSearch } from 'usearch'
import { hasRow } from '#core/index/facets/bitset.ts'
import { createPriorityQueue } from '#core/platform/priority-queue.ts'
import type { Cells } from '#core/index/vectors/cells-reader.ts'
import type { FilterBitset } from '#search-node/search/candidates/filter-bitset.ts'
import type { Scorer } from './exact.ts'

/**
 * Slots scored between two checks of the stop condition. The first batch is small because most searches end early;
 * later batches grow because each check costs time.
 */
const BATCH_SLOTS_FIRST = 512
const BATCH_SLOTS_MAX = 4_096
/** Minimum share of allowed rows in the nearest cells for which the query's neighbourhood counts as allowed. */
const ALLOWED_SHARE_NEAR = 0.5

export interface CellQuery {
  readonly head: Int8Array
  readonly allowed: FilterBitset
  /** True nearest rows wanted; at most the number of allowed rows. */
  readonly needed: number
  /** Minimum of rows scored. */
  readonly least: number
}

/**
 * Scores the allowed rows cell by cell, until no remaining cell is expected to hold a row nearer than the `needed`-th
 * found. The bound of a cell is head · mean + reach × standard deviation × |head|; the version's build measures the
 * reach. The search therefore continues while a filter excludes the query's neighbourhood, and ends early if the
 * neighbours are allowed.
 */
export function scoreCells(cells: Cells, scorer: Scorer, { head, allowed, needed, least }: CellQuery): void {
  const expected = expectationsOf(cells, head)
  let walk = createWalk(expected, cells.reach.near, new Uint8Array(cells.count))
  let scored = 0
  for (let wanted = BATCH_SLOTS_FIRST; ; wanted = Math.min(wanted * 2, BATCH_SLOTS_MAX)) {
    const enough = scorer.productOf(needed)
    const batch: number[] = []
    let [size, looked] = [0, 0]
    while (size < wanted && (scored + size < least || walk.bound() > enough)) {
      const cell = walk.next()
      if (cell === undefined) break
      batch.push(cell)
      size += countAllowed(cells, cell, allowed)
      looked += sizeOf(cells, cell)
    }
    if (batch.length === 0) return
    scorer.add(allowedSlots(cells, batch, allowed, size))
    if (wanted === BATCH_SLOTS_FIRST && size < ALLOWED_SHARE_NEAR * looked)
      walk = createWalk(expected, cells.reach.far, walk.visited)
    scored += size
  }
}

interface Expectations {
  /** Inner product of the query's head with the mean of each cell. */
  readonly products: Float64Array
  /** Standard deviation of the heads of each cell × length of the query's head. */
  readonly standardDeviations: Float64Array
}

function expectationsOf({ count, standardDeviations, means, scale }: Cells, head: Int8Array): Expectations {
  const { keys, distances } = exactSearch(means, head, head.length, count, MetricKind.IP, 1)
  const words = new Uint32Array(keys.buffer, keys.byteOffset, count * 2)
  const products = new Float64Array(count)
  for (let at = 0; at < count; at++) products[words[at * 2] ?? 0] = (1 - (distances[at] ?? 0)) / scale
  const length = Math.sqrt(head.reduce((sum, value) => sum + value * value, 0))
  return { products, standardDeviations: Float64Array.from(standardDeviations, (deviation) => deviation * length) }
}

/** The unvisited cells, highest bound first. */
interface Walk {
  readonly visited: Uint8Array
  /** Bound of the next cell; -Infinity if none is left. */
  bound(): number
  next(): number | undefined
}

function createWalk({ products, standardDeviations }: Expectations, reach: number, visited: Uint8Array): Walk {
  const bounds = products.map((product, cell) =>
    visited[cell] === 1 ? -Infinity : product + reach * (standardDeviations[cell] ?? 0),
  )
  const queue = createPriorityQueue(bounds)
  return {
    visited,
    bound: () => (queue.size === 0 ? -Infinity : (bounds[queue.peek()] ?? -Infinity)),
    next() {
      const cell = queue.size === 0 ? undefined : queue.pop()
      if (cell === undefined || visited[cell] === 1) return undefined
      visited[cell] = 1
      return cell
    },
  }
}

function sizeOf({ starts }: Cells, cell: number): number {
  return (starts[cell + 1] ?? 0) - (starts[cell] ?? 0)
}

function countAllowed(cells: Cells, cell: number, { bits, count: allowed }: FilterBitset): number {
  const { starts, rowOf } = cells
  if (allowed === rowOf.length) return sizeOf(cells, cell)
  const end = starts[cell + 1] ?? 0
  let count = 0
  for (let slot = starts[cell] ?? 0; slot < end; slot++) if (hasRow(bits, rowOf[slot] ?? 0)) count += 1
  return count
}

/** Ascending. */
function allowedSlots(
  { starts, rowOf }: Cells,
  batch: readonly number[],
  { bits, count }: FilterBitset,
  size: number,
): Uint32Array {
  const slots = new Uint32Array(size)
  const every = count === rowOf.length
  let at = 0
  for (const cell of batch.toSorted((a, b) => a - b)) {
    const end = starts[cell + 1] ?? 0
    for (let slot = starts[cell] ?? 0; slot < end; slot++)
      if (every || hasRow(bits, rowOf[slot] ?? 0)) slots[at++] = slot
  }
  return slots
}
