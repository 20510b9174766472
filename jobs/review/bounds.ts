export const REVIEW_BOUNDS = {
  /** Reviewers of an installation, retired ones included, and review policies of all its knowledge bases. */
  reviewersMax: 1_000,
  reviewPoliciesMax: 10_000,
  /** A file of a key, a statement or a signature. */
  reviewFileBytesMax: 65_536,
  /** Reviews that are named because their signature does not hold. */
  forgedReviewsNamedMax: 20,
  /** Changes that the audit row of an activation names by label. */
  auditedChangesMax: 20,
} as const
