/** Bounds of the operator's command line. */
export const OPERATOR_BOUNDS = {
  operatorStatementTimeoutMs: 60_000,
  operatorRowsDefault: 100,
  operatorRowsMax: 10_000,
  operatorPollMs: 250,
  /** Organizations, or keys of one organization, that `operator fingerprints rewrap` reads at once. */
  rewrapBatchMax: 500,
  /** Keys that it names because no secret opens them. */
  rewrapUnopenedNamedMax: 20,
  /** Steps of a rollback whose changes it names. */
  undoneStepsNamedMax: 20,
} as const
