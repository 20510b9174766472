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
  const { places, all, costs } = asked
  const isCheap = all.allowed <= FEW_ROWS_MAX || costs.scanNs(all) <= SCAN_NS_CHEAP
  return cells.recall < CELLS_RECALL || isCheap ? places : new NearCells(cells, scan, asked).scan()
}

/**
 * A scan of cells for one query. Its methods are those of a class because V8 drops the machine code of a function that
 * each search creates anew (decision 0036).
 */
class NearCells {
  readonly #cells: CellsReader
  readonly #scan: CodesScan
  readonly #asked: CellQuery
  readonly #products: Float32Array
  readonly #scatter = createCellScatter()
  readonly #scanned: Uint8Array
  readonly #near: { cells: number; rows: number; allowed: number; readonly rowBytes: number }
  /** Number of cells after which it is told whether the filter excludes the rows near the query. */
  readonly #told: number
  /** What the rows of a cell lie above its mean at most, in radii. */
  #perRadius = 0

  constructor(cells: CellsReader, scan: CodesScan, asked: CellQuery) {
    this.#cells = cells
    this.#scan = scan
    this.#asked = asked
    this.#products = cells.products(scan.query)
    this.#scanned = new Uint8Array(cells.starts.length - 1)
    this.#near = { cells: 0, rows: 0, allowed: 0, rowBytes: asked.all.rowBytes }
    this.#told = Math.ceil((cells.probes[0] ?? 0) * TOLD_SHARE)
  }

  /** @returns the allowed places that are left to scan; undefined if they need not be. */
  scan(): Uint32Array | undefined {
    const { query, all } = this.#asked
    const count = this.#scanned.length
    for (const cell of this.#cells.nearest(query, firstCells(all.rows, count))) {
      if (this.#mostOf(cell) < this.#least()) continue
      if (!this.#isWorth()) return this.#left()
      this.#scanCell(cell)
    }
    for (const cell of this.#cellsAbove(this.#least())) {
      if (this.#scanned[cell] === 1) continue
      if (this.#mostOf(cell) < this.#least()) return undefined
      if (!this.#isWorth()) return this.#left()
      this.#scanCell(cell)
    }
    return undefined
  }

  #mostOf(cell: number): number {
    return (this.#products[cell] ?? 0) + this.#perRadius * (this.#cells.radii[cell] ?? 0)
  }

  #least(): number {
    const isEnough = this.#scatter.isMeasured() && this.#near.allowed >= this.#asked.rowsScoredMin
    return isEnough ? this.#scan.threshold() : -Infinity
  }

  #isWorth(): boolean {
    const { all, costs } = this.#asked
    const isExcluded = this.#near.cells === this.#told && excludesNear(this.#near, all)
    return !isExcluded && costs.cellsNs(this.#near.cells, this.#near) <= costs.scanNs(all)
  }

  #scanCell(cell: number): void {
    const { starts, radii, deviations } = this.#cells
    const { places } = this.#asked
    const [from, to] = [starts[cell] ?? 0, starts[cell + 1] ?? 0]
    if (this.#scatter.isMeasured()) this.#scan.add(places, from, to)
    else {
      this.#scatter.add(this.#scan.addAndMeasure(places, from, to), radii[cell] ?? 0)
      this.#perRadius = deviations * this.#scatter.deviation()
    }
    this.#scanned[cell] = 1
    this.#near.cells += 1
    this.#near.rows += to - from
    this.#near.allowed += countWithin(places, from, to)
  }

  /**
   * The cells that may hold a row of at least this value, the most promising first. Numbers sort faster without a
   * comparison.
   */
  #cellsAbove(least: number): Float64Array {
    const count = this.#scanned.length
    const keys = new Float64Array(count)
    let held = 0
    for (let cell = 0; cell < count; cell++) {
      const most = this.#mostOf(cell)
      if (most >= least) keys[held++] = cell - Math.round(most * KEY_STEPS) * KEY_CELLS
    }
    const sorted = keys.subarray(0, held).sort()
    for (let at = 0; at < held; at++)
      sorted[at] = (sorted[at] ?? 0) - Math.floor((sorted[at] ?? 0) / KEY_CELLS) * KEY_CELLS
    return sorted
  }

  /** The allowed places outside of the cells that are scanned or hold no wanted row; undefined if there are none. */
  #left(): Uint32Array | undefined {
    const { starts } = this.#cells
    const left = this.#asked.places.slice()
    const least = this.#least()
    for (let cell = 0; cell < this.#scanned.length; cell++)
      if (this.#scanned[cell] === 1 || this.#mostOf(cell) < least)
        removeWithin(left, starts[cell] ?? 0, starts[cell + 1] ?? 0)
    return countRows(left) === 0 ? undefined : left
  }
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
