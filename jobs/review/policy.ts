import { statementSignatureHolds } from '#core/credentials/reviewer-keys.ts'
import type { ReviewPolicyRow } from '#core/db/review-policies.ts'
import { DEFAULT_REVIEW_POLICY } from '#core/domain/review-policy.ts'
import type { ReviewPolicy } from '#core/domain/review-policy.ts'
import { parseStatement, policyStatementSchema } from '#core/domain/review-statements.ts'
import type { PolicyStatement } from '#core/domain/review-statements.ts'
import { REVIEW_BOUNDS } from '#jobs/review/bounds.ts'
import { sha256 } from '#core/platform/digest.ts'
import { ReviewRefused } from './review-refused.ts'
import type { Registry } from './reviewers.ts'

/** The policy in force, and what the statement of the next one must name. */
export interface PolicyInForce {
  readonly policy: ReviewPolicy
  /** 0: the default, which nobody signed. */
  readonly seq: number
  readonly sha256: string | null
}

/**
 * Verifies every policy of a knowledge base from the first on: each follows the one before and is signed by as many
 * reviewers as that one requires.
 * @param rows all of them, oldest first.
 * @throws ReviewRefused when one is not signed so.
 */
export function verifyPolicies(
  knowledgeBaseId: string,
  rows: readonly ReviewPolicyRow[],
  registry: Registry,
): PolicyInForce {
  if (rows.length > REVIEW_BOUNDS.reviewPoliciesMax)
    throw new ReviewRefused(
      `The knowledge base has more than ${REVIEW_BOUNDS.reviewPoliciesMax} review policies: ` +
        'the owner of the schema removes rows that nobody signed.',
    )
  let inForce: PolicyInForce = { policy: DEFAULT_REVIEW_POLICY, seq: 0, sha256: null }
  for (const row of rows) {
    const statement = parseStatement<PolicyStatement>(policyStatementSchema, row.statement)
    const follows =
      statement?.knowledge_base.id === knowledgeBaseId &&
      statement.seq === inForce.seq + 1 &&
      statement.previous_sha256 === inForce.sha256
    if (statement === undefined || !follows || signersOf(row, registry) < inForce.policy.reviewers)
      throw new ReviewRefused(
        `Review policy ${row.seq} of the knowledge base is not signed by its reviewers, so nothing can be approved: ` +
          'the owner of the schema removes the row.',
      )
    inForce = { policy: statement.policy, seq: statement.seq, sha256: sha256(row.statement).toString('hex') }
  }
  return inForce
}

/** Number of different reviewers who were active at that time and whose signature holds. */
function signersOf({ statement, signatures, created_at: at }: ReviewPolicyRow, registry: Registry): number {
  const holding = signatures.filter(({ reviewer, signature }) => {
    const row = registry.activeAt(reviewer, at)
    return row !== undefined && statementSignatureHolds(statement, Buffer.from(signature, 'base64'), row.public_key)
  })
  return new Set(holding.map(({ reviewer }) => reviewer)).size
}
