/**
 * How rows are found: `exact` scores every allowed row, `cells` the allowed rows of one cell after the other for as
 * long as it pays.
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
/** Reading along what lies between two rows, up to what a call of its own costs. */
const READ_NS_PER_COMPONENT = 0.1
const READ_NS_PER_CALL = 1_000
const BOUND_NS_PER_COMPONENT = 0.2
/** Looking whether a row is allowed. */
const LOOK_NS_PER_ROW = 1.5
/**
 * Share of the rows looked at, and of the allowed ones scored, where a random filter leaves a few hundred of a million
 * rows.
 */
const SHARE_OF_FEW = 0.5

/**
 * The cheaper plan. Cells rule out most rows where many are allowed, and few where few are: there they are only worth
 * looking through if reading every allowed row costs more than half of that again.
 */
export function planQuery({ passages, head, cells, allowed }: QueryPlanInput): QueryPlan {
  if (cells === 1 || allowed === 0) return 'exact'
  const rowNs =
    head * SCORE_NS_PER_COMPONENT + Math.min(READ_NS_PER_CALL, (passages / allowed) * head * READ_NS_PER_COMPONENT)
  const cellsNs = cells * head * BOUND_NS_PER_COMPONENT + SHARE_OF_FEW * (passages * LOOK_NS_PER_ROW + allowed * rowNs)
  return allowed * rowNs <= cellsNs ? 'exact' : 'cells'
}
