import { countWithin, copyWithin } from '#core/index/facets/bitset.ts'
import { CELLS_RECALL, DEPTHS } from '#core/index/vectors/cells.ts'
import type { CellsReader } from '#core/index/vectors/cells-reader.ts'
import type { PlanCosts, PlannedScan } from './query-plan.ts'

export interface CellQuery {
  /** Unit length. */
  readonly query: Float32Array
  /** The allowed places: bit place % 32 of word place / 32. */
  readonly places: Uint32Array
  /** All that may be scanned instead. */
  readonly all: PlannedScan
  /** Nearest allowed rows wanted. */
  readonly wanted: number
  /** The minimum of rows that are scored. */
  readonly rowsScoredMin: number
  readonly costs: PlanCosts
}

/** A scan that takes no longer is exact and costs little. */
const SCAN_NS_CHEAP = 1_500_000
/** The questions of users are harder than the sample that the build measured with; see decision 0027. */
const SPARE = 1.5

/** A first search tells which share of the rows near the query is allowed; a second one looks as far as that needs. */
const SEARCHES_MAX = 2

/**
 * Finds the allowed places of the cells that hold the nearest allowed rows. The fewer of the near rows a filter allows,
 * the deeper the wanted ones lie among all rows; the build measured how many cells each depth needs.
 * @returns undefined if a scan of all allowed places costs less, or no number of cells holds the wanted share.
 */
export function nearCells(cells: CellsReader, asked: CellQuery): Uint32Array | undefined {
  const { query, places, all, wanted, rowsScoredMin, costs } = asked
  if (costs.scanNs(all) <= SCAN_NS_CHEAP) return undefined
  let probes = cells.recall < CELLS_RECALL ? undefined : cellsFor(cells, wanted)
  for (let search = 0; search < SEARCHES_MAX && probes !== undefined; search++) {
    const found = cells.nearest(query, probes)
    const near = rowsIn(cells, found, places)
    if (excludesNear(rowsIn(cells, found.subarray(0, Math.ceil(found.length / 4)), places), all)) return undefined
    if (costs.cellsNs(probes, { ...near, rowBytes: all.rowBytes }) > costs.scanNs(all)) return undefined
    const needed = near.allowed === 0 ? undefined : cellsFor(cells, (wanted * near.rows) / near.allowed)
    if (needed !== undefined && needed <= probes && near.allowed >= rowsScoredMin) return placesOf(cells, found, places)
    probes = needed === undefined ? undefined : Math.max(needed, probes * 2)
  }
  return undefined
}

/**
 * Whether a filter allows clearly fewer of the rows near the query than of all rows. Its nearest rows then lie in any
 * cell.
 */
function excludesNear(near: Pick<PlannedScan, 'rows' | 'allowed'>, all: PlannedScan): boolean {
  return near.allowed * all.rows < EXCLUDED_SHARE * near.rows * all.allowed
}
const EXCLUDED_SHARE = 0.7

/** Cells that hold the nearest rows up to a depth; undefined beyond the depths that were measured. */
function cellsFor({ probes, starts }: CellsReader, depth: number): number | undefined {
  const at = DEPTHS.findIndex((measured) => depth <= measured)
  if (at === -1) return undefined
  const [most = 0, before = most] = [probes[at], probes[at - 1]]
  const [deeper = 0, shallower = deeper] = [DEPTHS[at], DEPTHS[at - 1]]
  const spared = (cells: number): number => Math.min(starts.length - 1, Math.ceil(cells * SPARE))
  if (at === 0 || deeper === shallower) return spared(most)
  const share = Math.log(depth / shallower) / Math.log(deeper / shallower)
  return spared(before + (most - before) * share)
}

function rowsIn(
  { starts }: CellsReader,
  found: Uint32Array,
  places: Uint32Array,
): { readonly rows: number; readonly allowed: number } {
  let [rows, allowed] = [0, 0]
  for (const cell of found) {
    const [from = 0, to = 0] = [starts[cell], starts[cell + 1]]
    rows += to - from
    allowed += countWithin(places, from, to)
  }
  return { rows, allowed }
}

function placesOf({ starts }: CellsReader, found: Uint32Array, places: Uint32Array): Uint32Array {
  const near = new Uint32Array(places.length)
  for (const cell of found) copyWithin(places, near, starts[cell] ?? 0, starts[cell + 1] ?? 0)
  return near
}
