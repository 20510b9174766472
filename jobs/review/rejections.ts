import type { Queryable } from '#core/db/pool.ts'
import { readClaimedReviews, type ClaimedReview } from '#core/db/reviews.ts'
import type { VersionRow } from '#core/db/versions.ts'
import { REVIEW_BOUNDS } from './bounds.ts'
import { readRegistry } from './approvals.ts'
import type { Registry } from './reviewers.ts'
import { statementSignatureHolds } from '#core/credentials/reviewer-keys.ts'
import { parseStatement, reviewStatementSchema, type ReviewStatement } from '#core/domain/review-statements.ts'

/**
 * Verifies the rejections of a version until one holds.
 * @returns `signed`: a verified reviewer signed one of them, which is for good. `forged`: the first reviews whose signature
 * does not hold; they count for nothing.
 */
export async function readRejections(database: Queryable, versionId: string) {
  const forged: string[] = []
  let registry: Registry | undefined
  for await (const batch of readClaimedReviews(database, versionId)) {
    for (const claim of batch) {
      registry ??= await readRegistry(database)
      if (rejects(claim, versionId, registry)) return { signed: true, forged }
      if (forged.length < REVIEW_BOUNDS.forgedReviewsNamedMax) forged.push(claim.id)
    }
  }
  return { signed: false, forged }
}

/** A retired reviewer's rejection stays: Postgres took it only while the reviewer was active. */
function rejects(claim: ClaimedReview, versionId: string, registry: Registry): boolean {
  const statement = signedStatement(claim, registry)
  return statement?.verdict === 'rejected' && statement.candidate === versionId
}

/** Whether the state or a signed review rejects a version. */
export async function isRejected(
  database: Queryable,
  version: { readonly id: string; readonly state: VersionRow['state'] },
): Promise<boolean> {
  return version.state === 'rejected' || (await readRejections(database, version.id)).signed
}

interface PastVersion {
  readonly version_id: string
  readonly claimed: boolean
}

/** Returns a check whether a past version was rejected. It reads the reviews of a claimed version alone. */
export function rejectedStep(database: Queryable): (version: PastVersion) => Promise<boolean> {
  return async ({ version_id: id, claimed }) => claimed && (await readRejections(database, id)).signed
}

/**
 * Returns what a verified reviewer signed, retired or not; undefined for anything else. Anybody who can insert a review
 * can forge the rest, so it proves nothing.
 */
export function signedStatement({ reviewer_id, statement, signature }: ClaimedReview, registry: Registry) {
  const parsed = parseStatement<ReviewStatement>(reviewStatementSchema, statement)
  const reviewer = registry.byId(reviewer_id)
  const holds =
    parsed !== undefined &&
    reviewer?.id === parsed.reviewer.id &&
    statementSignatureHolds(statement, signature, reviewer.public_key)
  return holds ? parsed : undefined
}
