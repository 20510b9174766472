import { countRows, countRange, clearRange } from '#core/index/bitset.ts'
import { ListSpread, firstLists } from '#core/index/vectors/list-spread.ts'
import type { IvfReader } from '#core/index/vectors/ivf-reader.ts'
import type { Sq4Scan } from '#core/index/vectors/sq4-scan.ts'
import { sq4FitsIn } from '#core/index/vectors/layout.ts'
import { INDEX_BOUNDS } from '#core/index/bounds.ts'

/**
 * How rows are found: `exact` scores every allowed row in float32; `scan` scores the SQ4 vectors of every allowed row;
 * `ivf` scores the SQ4 vectors of those in the lists near the query.
 */
export type QueryPlan = 'exact' | 'scan' | 'ivf'

/**
 * Up to this number of allowed rows, all are scored: in float32, or by their SQ4 vectors where that takes less time.
 */
export const FEW_ROWS_MAX = 1_024

/**
 * Up to this number of allowed rows, reading their float32 takes no longer than scoring their SQ4 vectors, which are in
 * memory if they are few. It depends on the version alone, so that nodes with other memory give the same result.
 */
export function exactRowsMax(passages: number, dimensions: number): number {
  return sq4FitsIn(passages, dimensions, INDEX_BOUNDS.residentSq4MbDefault) ? 128 : FEW_ROWS_MAX
}

/** Costs in nanoseconds on one thread; see decision 0027. */
const READ_NS_PER_BYTE = 0.05
const SCORE_NS_PER_BYTE = 0.05
const READ_NS_PER_CALL = 700
const FIND_NS_PER_LIST = 1_500

interface PlannedScan {
  /** Rows between the first and the last one scanned, and how many of them are allowed. */
  readonly rows: number
  readonly allowed: number
  /** Bytes of an SQ4 vector. */
  readonly rowBytes: number
}

/** Estimated costs in nanoseconds, by which a search chooses between a scan and the lists near a query. */
export interface PlanCosts {
  readonly scanNs: typeof scanNs
  readonly listsNs: typeof listsNs
}

/** Estimates a scan. Rows between two allowed ones are read with them if that costs less than another call. */
function scanNs({ rows, allowed, rowBytes }: PlannedScan): number {
  if (allowed === 0) return 0
  const gapNs = Math.min(READ_NS_PER_CALL, (rows / allowed - 1) * rowBytes * READ_NS_PER_BYTE)
  return allowed * (gapNs + rowBytes * (READ_NS_PER_BYTE + SCORE_NS_PER_BYTE))
}

/** Estimates a scan of the rows of some lists, which have to be found. */
function listsNs(lists: number, scan: PlannedScan): number {
  return lists * (FIND_NS_PER_LIST + READ_NS_PER_CALL) + scanNs(scan)
}

export const PLAN_COSTS: PlanCosts = { scanNs, listsNs }

export interface ProbeQuery {
  /** Unit length. */
  readonly query: Float32Array
  /** The allowed positions: bit position % 32 of word position / 32. */
  readonly positions: Uint32Array
  /** All that may be scanned instead. */
  readonly all: PlannedScan
  readonly rowsScoredMin: number
  readonly costs: PlanCosts
}

/** Share of `nprobe` after which a search knows whether the filter excludes the rows near the query. */
const EXCLUSION_SHARE = 0.25
/** The share of near rows that a filter allows is clearly less than that of all rows below this ratio. */
const EXCLUDED_RATIO = 0.7
/** Steps of a value in a sort key, and the factor that makes room for a list below it. */
const KEY_STEPS = 2 ** 22
const KEY_LISTS = 2 ** 24

/**
 * Scans the allowed positions list by list: first those that the graph finds nearest, then all others that may
 * hold one of the wanted rows, most promising first. A list is left out if its centroid lies so far below the wanted
 * rows that it hardly holds a nearer one. The build measured how far that is, in standard deviations of the rows around
 * the centroids of their lists. The deviation is proportional to the radius of a list; the first lists tell
 * the factor for this query.
 */
export class IvfProbe {
  readonly #ivf: IvfReader
  readonly #scan: Sq4Scan
  readonly #asked: ProbeQuery
  readonly #products: Float32Array
  readonly #spread = new ListSpread()
  readonly #scanned: Uint8Array
  readonly #near: { lists: number; rows: number; allowed: number; readonly rowBytes: number }
  /** What the rows of a list lie above its centroid at most, in radii. */
  #boundPerRadius = 0

  constructor(ivf: IvfReader, scan: Sq4Scan, asked: ProbeQuery) {
    this.#ivf = ivf
    this.#scan = scan
    this.#asked = asked
    this.#products = ivf.products(scan.query)
    this.#scanned = new Uint8Array(ivf.starts.length - 1)
    this.#near = { lists: 0, rows: 0, allowed: 0, rowBytes: asked.all.rowBytes }
  }

  /** @returns the allowed positions that are left to scan; undefined if they need not be. */
  run(): Uint32Array | undefined {
    const { query, all } = this.#asked
    const count = this.#scanned.length
    for (const list of this.#ivf.nearest(query, firstLists(all.rows, count))) {
      if (this.#upperBound(list) < this.#threshold()) continue
      if (!this.#isCheaperThanScan()) return this.#remaining()
      this.#scanList(list)
    }
    for (const list of this.#listsAbove(this.#threshold())) {
      if (this.#scanned[list] === 1) continue
      if (this.#upperBound(list) < this.#threshold()) return undefined
      if (!this.#isCheaperThanScan()) return this.#remaining()
      this.#scanList(list)
    }
    return undefined
  }

  #upperBound(list: number): number {
    return (this.#products[list] ?? 0) + this.#boundPerRadius * (this.#ivf.radii[list] ?? 0)
  }

  #threshold(): number {
    const isEnough = this.#spread.isMeasured && this.#near.allowed >= this.#asked.rowsScoredMin
    return isEnough ? this.#scan.threshold() : -Infinity
  }

  #isCheaperThanScan(): boolean {
    const { all, costs } = this.#asked
    const isSampled = this.#near.lists === Math.ceil(this.#ivf.nprobe * EXCLUSION_SHARE)
    if (isSampled && excludesNear(this.#near, all)) return false
    return costs.listsNs(this.#near.lists, this.#near) <= costs.scanNs(all)
  }

  #scanList(list: number): void {
    const { starts, radii, deviations } = this.#ivf
    const { positions } = this.#asked
    const [from, to] = [starts[list] ?? 0, starts[list + 1] ?? 0]
    if (this.#spread.isMeasured) this.#scan.add(positions, from, to)
    else {
      this.#spread.add(to - from, this.#scan.addAndMeasure(positions, from, to), radii[list] ?? 0)
      this.#boundPerRadius = deviations * this.#spread.deviation
    }
    this.#scanned[list] = 1
    this.#near.lists += 1
    this.#near.rows += to - from
    this.#near.allowed += countRange(positions, from, to)
  }

  /**
   * The lists that may hold a row of at least this value, the most promising first. Numbers sort faster without a
   * comparison.
   */
  #listsAbove(threshold: number): Float64Array {
    const count = this.#scanned.length
    const keys = new Float64Array(count)
    let held = 0
    for (let list = 0; list < count; list++) {
      const bound = this.#upperBound(list)
      if (bound >= threshold) keys[held++] = list - Math.round(bound * KEY_STEPS) * KEY_LISTS
    }
    const sorted = keys.subarray(0, held).sort()
    for (let at = 0; at < held; at++)
      sorted[at] = (sorted[at] ?? 0) - Math.floor((sorted[at] ?? 0) / KEY_LISTS) * KEY_LISTS
    return sorted
  }

  /** The allowed positions outside of the lists that are scanned or hold no wanted row; undefined if none. */
  #remaining(): Uint32Array | undefined {
    const { starts } = this.#ivf
    const remaining = this.#asked.positions.slice()
    const threshold = this.#threshold()
    for (let list = 0; list < this.#scanned.length; list++)
      if (this.#scanned[list] === 1 || this.#upperBound(list) < threshold)
        clearRange(remaining, starts[list] ?? 0, starts[list + 1] ?? 0)
    return countRows(remaining) === 0 ? undefined : remaining
  }
}

/**
 * Whether a filter allows clearly fewer of the rows near the query than of all rows. Its nearest rows then lie in any
 * list.
 */
function excludesNear(near: PlannedScan, all: PlannedScan): boolean {
  return near.allowed * all.rows < EXCLUDED_RATIO * near.rows * all.allowed
}
