/**
 * How rows are found: `exact` scores every allowed row; `cells` scores the allowed rows cell by cell and stops early.
 */
export type QueryPlan = 'exact' | 'cells'

export interface QueryPlanInput {
  readonly passages: number
  /** Components of a head. */
  readonly head: number
  /** Cells of the version; 1: not divided. */
  readonly cells: number
  /** Rows that the filters allow. */
  readonly allowed: number
}

/** Costs in nanoseconds on one thread; see decision 0007. */
const SCORE_NS_PER_COMPONENT = 0.17
/** Reading the gap between two rows; at most the cost of a separate call. */
const READ_NS_PER_COMPONENT = 0.1
const READ_NS_PER_CALL = 1_000
const BOUND_NS_PER_COMPONENT = 0.2
/** Testing whether a row is allowed. */
const LOOK_NS_PER_ROW = 1.5
/**
 * Share of all rows that are tested, and of allowed rows that are scored, if a random filter allows a few hundred of a
 * million rows.
 */
const SHARE_OF_FEW = 0.5

/**
 * Returns the plan with the lower estimated cost. Cells exclude most rows if many are allowed, but only about half of
 * them if few are.
 */
export function planQuery({ passages, head, cells, allowed }: QueryPlanInput): QueryPlan {
  if (cells === 1 || allowed === 0) return 'exact'
  const rowNs =
    head * SCORE_NS_PER_COMPONENT + Math.min(READ_NS_PER_CALL, (passages / allowed) * head * READ_NS_PER_COMPONENT)
  const cellsNs = cells * head * BOUND_NS_PER_COMPONENT + SHARE_OF_FEW * (passages * LOOK_NS_PER_ROW + allowed * rowNs)
  return allowed * rowNs <= cellsNs ? 'exact' : 'cells'
}
