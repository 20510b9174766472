import { countRows, countWithin, removeWithin } from '#core/platform/bitset.ts'
import { createCellScatter, firstCells } from '#core/index/vectors/cell-scatter.ts'
import { CELLS_RECALL } from '#core/index/vectors/cells.ts'
import type { CellsReader } from '#core/index/vectors/cells-reader.ts'
import type { CodesScan } from '#core/index/vectors/codes-scan.ts'
import { FEW_ROWS_MAX } from './query-plan.ts'
import type { PlanCosts, PlannedScan } from './query-plan.ts'

export interface CellQuery {
  /** Unit length. */
  readonly query: Float32Array
  /** The allowed places: bit place % 32 of word place / 32. */
  readonly places: Uint32Array
  /** All that may be scanned instead. */
  readonly all: PlannedScan
  /** The minimum of allowed rows that are scored. */
  readonly rowsScoredMin: number
  readonly costs: PlanCosts
}

/** A scan that takes no longer is exact and costs little. */
export const SCAN_NS_CHEAP = 1_500_000
/** Share of the measured probes that tells whether a filter excludes the rows near the query. */
const TOLD_SHARE = 0.25

/**
 * Scans the allowed places of cell after cell: first those that the graph finds nearest, then all others that may hold
 * one of the wanted rows, most promising first. A cell is left out if its mean lies so far below the wanted rows that
 * it hardly holds a nearer one. The build measured how far that is, in standard deviations of the rows around the
 * means of their cells. The deviation is proportional to the radius of a cell; the first cells tell the factor for this
 * query.
 * @returns the allowed places that are left to scan; undefined if they need not be.
 */
export function scanNearCells(cells: CellsReader, scan: CodesScan, asked: CellQuery): Uint32Array | undefined {
  const { query, places, all, rowsScoredMin, costs } = asked
  const isCheap = all.allowed <= FEW_ROWS_MAX || costs.scanNs(all) <= SCAN_NS_CHEAP
  if (cells.recall < CELLS_RECALL || isCheap) return places
  const count = cells.starts.length - 1
  const products = cells.products(scan.query)
  const told = Math.ceil((cells.probes[0] ?? 0) * TOLD_SHARE)
  const scatter = createCellScatter()
  const scanned = new Uint8Array(count)
  const near = { cells: 0, rows: 0, allowed: 0, rowBytes: all.rowBytes }
  /** What the rows of a cell lie above its mean at most, in radii. */
  let perRadius = 0
  const mostOf = (cell: number): number => (products[cell] ?? 0) + perRadius * (cells.radii[cell] ?? 0)
  const least = (): number => (scatter.isMeasured() && near.allowed >= rowsScoredMin ? scan.threshold() : -Infinity)
  const isWorth = (): boolean =>
    !(near.cells === told && excludesNear(near, all)) && costs.cellsNs(near.cells, near) <= costs.scanNs(all)
  const scanCell = (cell: number): void => {
    const [from, to] = [cells.starts[cell] ?? 0, cells.starts[cell + 1] ?? 0]
    if (scatter.isMeasured()) scan.add(places, from, to)
    else {
      scatter.add(scan.addAndMeasure(places, from, to), cells.radii[cell] ?? 0)
      perRadius = cells.deviations * scatter.deviation()
    }
    scanned[cell] = 1
    near.cells += 1
    near.rows += to - from
    near.allowed += countWithin(places, from, to)
  }
  const left = (): Uint32Array | undefined =>
    leftOf(places, cells.starts, (cell) => scanned[cell] === 1 || mostOf(cell) < least())
  for (const cell of cells.nearest(query, firstCells(all.rows, count))) {
    if (mostOf(cell) < least()) continue
    if (!isWorth()) return left()
    scanCell(cell)
  }
  for (const cell of cellsAbove(least(), count, mostOf)) {
    if (scanned[cell] === 1) continue
    if (mostOf(cell) < least()) return undefined
    if (!isWorth()) return left()
    scanCell(cell)
  }
  return undefined
}

/**
 * Whether a filter allows clearly fewer of the rows near the query than of all rows. Its nearest rows then lie in any
 * cell.
 */
function excludesNear(near: PlannedScan, all: PlannedScan): boolean {
  return near.allowed * all.rows < EXCLUDED_SHARE * near.rows * all.allowed
}
const EXCLUDED_SHARE = 0.7

/** Steps of a value in a sort key, and the factor that makes room for a cell below it. */
const KEY_STEPS = 2 ** 22
const KEY_CELLS = 2 ** 24

/** The cells with a value of `least` or more, the largest value first. Numbers sort faster without a comparison. */
function cellsAbove(least: number, count: number, valueOf: (cell: number) => number): Float64Array {
  const keys = new Float64Array(count)
  let held = 0
  for (let cell = 0; cell < count; cell++) {
    const value = valueOf(cell)
    if (value >= least) keys[held++] = cell - Math.round(value * KEY_STEPS) * KEY_CELLS
  }
  const sorted = keys.subarray(0, held).sort()
  for (let at = 0; at < held; at++)
    sorted[at] = (sorted[at] ?? 0) - Math.floor((sorted[at] ?? 0) / KEY_CELLS) * KEY_CELLS
  return sorted
}

/** The allowed places outside of the cells that are done; undefined if there are none. */
function leftOf(places: Uint32Array, starts: Uint32Array, isDone: (cell: number) => boolean): Uint32Array | undefined {
  const left = places.slice()
  for (let cell = 0; cell + 1 < starts.length; cell++)
    if (isDone(cell)) removeWithin(left, starts[cell] ?? 0, starts[cell + 1] ?? 0)
  return countRows(left) === 0 ? undefined : left
}
