import { countRows, countWithin, removeWithin } from '#core/platform/bitset.ts'
import { createCellScatter } from '#core/index/vectors/cell-scatter.ts'
import { CELLS_RECALL } from '#core/index/vectors/cells.ts'
import type { CellsReader } from '#core/index/vectors/cells-reader.ts'
import type { CodesScan } from '#core/index/vectors/codes-scan.ts'
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
/** Cells of the first search of the graph, and how many times more each further one finds. */
const CELLS_FIRST = 128
const CELLS_FACTOR = 4
/** Share of the measured probes that tells whether a filter excludes the rows near the query. */
const TOLD_SHARE = 0.25

/**
 * Scans the allowed places of cell after cell, most promising first. It leaves out cells whose mean lies so far below
 * the wanted rows that they hardly hold a nearer one, and ends where all cells that are left are such. The build
 * measured how far that is, in standard deviations of the rows around the means of their cells. The deviation is
 * proportional to the radius of a cell; the first cells tell the factor for this query.
 * @returns the allowed places that are left to scan; undefined if they need not be.
 */
export function scanNearCells(cells: CellsReader, scan: CodesScan, asked: CellQuery): Uint32Array | undefined {
  const { query, places, all, rowsScoredMin, costs } = asked
  if (cells.recall < CELLS_RECALL || costs.scanNs(all) <= SCAN_NS_CHEAP) return places
  const told = Math.ceil((cells.probes[0] ?? 0) * TOLD_SHARE)
  const scatter = createCellScatter()
  const done: number[] = []
  let [scanned, rows, allowed] = [0, 0, 0]
  for (const { cell, product } of nearestFirst(cells, query)) {
    const near = { rows, allowed, rowBytes: all.rowBytes }
    if (scatter.isMeasured() && allowed >= rowsScoredMin) {
      const perRadius = cells.deviations * scatter.deviation()
      if (cells.mostFrom(cell, product, perRadius) < scan.threshold()) return undefined
      if (product + perRadius * (cells.radii[cell] ?? 0) < scan.threshold()) {
        done.push(cell)
        continue
      }
    }
    if (scanned === told && excludesNear(near, all)) break
    if (costs.cellsNs(scanned, near) > costs.scanNs(all)) break
    const [from, to] = boundsOf(cells, cell)
    if (scatter.isMeasured()) scan.add(places, from, to)
    else scatter.add(scan.addAndMeasure(places, from, to), cells.radii[cell] ?? 0)
    done.push(cell)
    scanned += 1
    rows += to - from
    allowed += countWithin(places, from, to)
  }
  const left = places.slice()
  for (const cell of done) removeWithin(left, ...boundsOf(cells, cell))
  return countRows(left) === 0 ? undefined : left
}

function* nearestFirst(
  cells: CellsReader,
  query: Float32Array,
): Generator<{ readonly cell: number; readonly product: number }> {
  const count = cells.starts.length - 1
  const seen = new Uint8Array(count)
  for (let wanted = CELLS_FIRST; wanted < count * CELLS_FACTOR; wanted *= CELLS_FACTOR) {
    const near = cells.nearest(query, Math.min(wanted, count))
    for (const [at, cell] of near.cells.entries()) {
      if (seen[cell] === 1) continue
      seen[cell] = 1
      yield { cell, product: near.products[at] ?? -1 }
    }
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

function boundsOf({ starts }: CellsReader, cell: number): readonly [from: number, to: number] {
  return [starts[cell] ?? 0, starts[cell + 1] ?? 0]
}
