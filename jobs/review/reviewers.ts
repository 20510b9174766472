import { statementSignatureHolds } from '#core/credentials/reviewer-keys.ts'
import type { ReviewerRow } from '#core/db/reviewers.ts'
import { parseStatement, reviewerStatementSchema } from '#core/domain/review-statements.ts'
import type { ReviewerStatement } from '#core/domain/review-statements.ts'
import { REVIEW_BOUNDS } from '#jobs/review/bounds.ts'
import { ReviewRefused } from './review-refused.ts'

/** Reviewers whose endorsements were verified up to the first reviewer. */
export interface Registry {
  byId(id: string): ReviewerRow | undefined
  byPublicKey(publicKeyDer: Buffer): ReviewerRow | undefined
  readonly active: readonly ReviewerRow[]
  /** Those who were added and not yet retired at that time. */
  activeAt(id: string, at: Date): ReviewerRow | undefined
}

/**
 * Verifies the chain of endorsements. A reviewer whose chain is broken is left out, as is everybody whom that reviewer
 * endorsed, so a forged row gives no rights and takes none.
 * @param rows all reviewers, in the order in which they were added.
 * @throws ReviewRefused for more rows than the bound.
 */
export function verifyReviewers(rows: readonly ReviewerRow[]): Registry {
  if (rows.length > REVIEW_BOUNDS.reviewersMax)
    throw new ReviewRefused(
      `There are more than ${REVIEW_BOUNDS.reviewersMax} reviewers: ` +
        'the owner of the schema removes rows that nobody vouches for.',
    )
  const verified = new Map<string, ReviewerRow>()
  const activeAt = (id: string, at: Date): ReviewerRow | undefined => {
    const row = verified.get(id)
    const active = row !== undefined && row.created_at <= at && (row.retired_at === null || row.retired_at > at)
    return active ? row : undefined
  }
  for (const row of rows) {
    if (isEndorsed(row, activeAt)) verified.set(row.id, row)
  }
  const all = [...verified.values()]
  return {
    byId: (id) => verified.get(id),
    byPublicKey: (publicKeyDer) => all.find((row) => row.public_key.equals(publicKeyDer)),
    active: all.filter((row) => row.retired_at === null),
    activeAt,
  }
}

/** Only the first reviewer, and one whom the owner of the schema added, comes without an endorsement. */
function isEndorsed(row: ReviewerRow, activeAt: Registry['activeAt']): boolean {
  const statement = parseStatement<ReviewerStatement>(reviewerStatementSchema, row.statement)
  if (statement === undefined || !describes(statement, row)) return false
  if (row.endorsed_by === null || row.endorsement === null) return row.seq === 1 || row.added_by_owner
  const endorser = activeAt(row.endorsed_by, row.created_at)
  return endorser !== undefined && statementSignatureHolds(row.statement, row.endorsement, endorser.public_key)
}

function describes(statement: ReviewerStatement, row: ReviewerRow): boolean {
  return (
    statement.id === row.id &&
    statement.name === row.name &&
    statement.login === row.login &&
    statement.endorsed_by === row.endorsed_by &&
    statement.public_key === row.public_key.toString('base64')
  )
}
