import { statementSignatureHolds } from '#core/credentials/reviewer-keys.ts'
import type { ClaimedReview } from '#core/db/reviews.ts'
import { parseStatement, reviewStatementSchema } from '#core/domain/review-statements.ts'
import type { ReviewStatement } from '#core/domain/review-statements.ts'
import type { Registry } from './reviewers.ts'

/**
 * Returns what a verified reviewer signed, retired or not; undefined for anything else. Anybody who can insert a review
 * can forge the rest, so it proves nothing.
 */
export function signedStatement(
  { reviewer_id, statement, signature }: ClaimedReview,
  registry: Registry,
): ReviewStatement | undefined {
  const parsed = parseStatement<ReviewStatement>(reviewStatementSchema, statement)
  const reviewer = registry.byId(reviewer_id)
  const holds =
    parsed !== undefined &&
    reviewer?.id === parsed.reviewer.id &&
    statementSignatureHolds(statement, signature, reviewer.public_key)
  return holds ? parsed : undefined
}
