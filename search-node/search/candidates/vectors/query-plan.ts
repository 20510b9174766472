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

export interface PlannedScan {
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
