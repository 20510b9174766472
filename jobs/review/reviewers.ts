import type { ReviewPolicyRow } from '#core/db/review-policies.ts'
import type { ReviewerRow } from '#core/db/reviewers.ts'
import { parseStatement, reviewerStatementSchema, type ReviewerStatement } from '#core/domain/review-statements.ts'
import { foldKey } from '#core/identity/fold.ts'
import { REVIEW_BOUNDS } from './bounds.ts'
import { createPolicies, signersOf, type ActiveAt } from './policy.ts'
import { ReviewRefused } from './review-refused.ts'

/** Reviewers whose endorsements were verified up to the first reviewer. No two have one name. */
export type Registry = ReturnType<typeof verifyReviewers>

/**
 * Verifies reviewers and policies in the order in which they were added. A reviewer whom too few endorsed is left out,
 * as is everybody whom that reviewer endorsed, so a forged row gives no rights and takes none.
 * @throws ReviewRefused for more rows than the bounds.
 */
export function verifyReviewers(reviewers: readonly ReviewerRow[], reviewPolicies: readonly ReviewPolicyRow[]) {
  assertBound(reviewers.length, REVIEW_BOUNDS.reviewersMax, 'reviewers')
  assertBound(reviewPolicies.length, REVIEW_BOUNDS.reviewPoliciesMax, 'review policies')
  const verified = new Map<string, ReviewerRow>()
  const activeAt: ActiveAt = (id, at) => {
    const row = verified.get(id)
    const active = row !== undefined && row.created_at <= at && (row.retired_at === null || row.retired_at > at)
    return active ? row : undefined
  }
  const policies = createPolicies(activeAt)
  let next = 0
  const policiesUpTo = (change: number): void => {
    for (let row = reviewPolicies[next]; row !== undefined && row.change < change; row = reviewPolicies[next]) {
      policies.add(row)
      next += 1
    }
  }
  for (const row of reviewers) {
    policiesUpTo(row.change)
    if (isEndorsed(row, activeAt, policies.strictest())) verified.set(row.id, row)
  }
  policiesUpTo(Infinity)
  const all = [...verified.values()]
  return {
    byId: (id: string) => verified.get(id),
    /** By name in any spelling, or by id; retired ones too. */
    named: (nameOrId: string) => all.find((row) => row.id === nameOrId || row.name_key === foldKey(nameOrId)),
    byPublicKey: (publicKeyDer: Buffer) => all.find((row) => row.public_key.equals(publicKeyDer)),
    active: all.filter((row) => row.retired_at === null),
    /** How many active reviewers endorse another one: as many as the strictest policy in force requires. */
    endorsersRequired: policies.strictest(),
    /** Policies of all knowledge bases. */
    policies: reviewPolicies.length,
    /** @throws ReviewRefused when a policy of the knowledge base is not signed by its reviewers. */
    policyOf: (knowledgeBaseId: string) => policies.inForce(knowledgeBaseId),
  }
}

function assertBound(rows: number, rowsMax: number, what: string): void {
  if (rows > rowsMax)
    throw new ReviewRefused(
      `There are more than ${rowsMax} ${what}: the owner of the schema removes rows that nobody vouches for.`,
    )
}

/** Only the first reviewer, and one whom the owner of the schema added, comes without an endorsement. */
function isEndorsed(row: ReviewerRow, activeAt: ActiveAt, endorsersRequired: number): boolean {
  const statement = parseStatement<ReviewerStatement>(reviewerStatementSchema, row.statement)
  if (statement === undefined || !describes(statement, row)) return false
  if (row.endorsements.length === 0) return row.seq === 1 || row.added_by_owner
  return signersOf(row.statement, row.endorsements, row.created_at, activeAt) >= endorsersRequired
}

/** The database holds names unique as they are stored; that a stored form is the name's own is checked here. */
function describes(statement: ReviewerStatement, row: ReviewerRow): boolean {
  return (
    statement.id === row.id &&
    statement.name === row.name &&
    row.name_key === foldKey(row.name) &&
    statement.login === row.login &&
    statement.public_key === row.public_key.toString('base64')
  )
}
