/**
 * How rows are found: `exact` scores every allowed row in float32; `scan` scores their codes first; `graph` searches
 * the graph and keeps the allowed rows.
 */
export type QueryPlan = 'exact' | 'scan' | 'graph'

/** Up to this number of allowed rows, reading their float32 takes no longer than reading their codes. */
export const EXACT_ROWS_MAX = 1_024

/** Costs in nanoseconds on one thread; see decision 0027. */
const READ_NS_PER_BYTE = 0.05
const SCORE_NS_PER_BYTE = 0.05
const READ_NS_PER_CALL = 700
const GRAPH_NS_PER_ROW = 300
const GRAPH_NS_PER_COMPONENT = 3

/** Estimated costs in nanoseconds, by which a search chooses between a scan and the graph. */
export interface PlanCosts {
  readonly scanNs: typeof scanNs
  readonly graphNs: typeof graphNs
}

/** Estimates a scan. Rows between two allowed ones are read with them if that costs less than another call. */
function scanNs(passages: number, allowed: number, rowBytes: number): number {
  const gapNs = Math.min(READ_NS_PER_CALL, (passages / allowed - 1) * rowBytes * READ_NS_PER_BYTE)
  return allowed * (gapNs + rowBytes * (READ_NS_PER_BYTE + SCORE_NS_PER_BYTE))
}

/** Estimates a search of the graph. @param expansion rows that it looks at. */
function graphNs(expansion: number, dimensions: number): number {
  return expansion * (GRAPH_NS_PER_ROW + dimensions * GRAPH_NS_PER_COMPONENT)
}

export const PLAN_COSTS: PlanCosts = { scanNs, graphNs }
