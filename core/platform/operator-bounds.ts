/** Bounds of the operator's command line, and of reviews; part of `BOUNDS`. */
export const OPERATOR_BOUNDS = {
  /** Organizations, or keys of one organization, that `operator fingerprints rewrap` reads at once. */
  rewrapBatchMax: 500,
  /** Keys that it names because no secret opens them. */
  rewrapUnopenedNamedMax: 20,
  /** Entries of the audit trail that `operator audit verify` reads at once. */
  auditBatchMax: 1_000,
  /** Reviews of a version whose signatures are verified at once. */
  reviewBatchMax: 1_000,
  /** Reviews that are named because their signature does not hold. */
  forgedReviewsNamedMax: 20,
  /** Steps of a rollback whose changes it names. */
  undoneStepsNamedMax: 20,
  operatorStatementTimeoutMs: 60_000,
  /** Reviewers of an installation, retired ones included, and review policies of a knowledge base. */
  reviewersMax: 1_000,
  reviewPoliciesMax: 1_000,
  /** A file of a key, a statement or a signature. */
  reviewFileBytesMax: 65_536,
  /** Changes that the audit row of an activation names by label. */
  auditedChangesMax: 20,
  operatorRowsDefault: 100,
  operatorRowsMax: 10_000,
  operatorPollMs: 250,
} as const
