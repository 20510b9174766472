import { statementSignatureHolds } from '#core/credentials/reviewer-keys.ts'
import type { Queryable } from '#core/db/pool.ts'
import { listReviewPolicies } from '#core/db/review-policies.ts'
import { listReviewers, type ReviewerRow } from '#core/db/reviewers.ts'
import { newestSignedReviews, type Predecessor, type SignedReviewRow } from '#core/db/reviews.ts'
import type { VersionRow } from '#core/db/versions.ts'
import type { ReviewPolicy } from '#core/domain/review-policy.ts'
import { parseStatement, reviewStatementSchema, signCommand } from '#core/domain/review-statements.ts'
import type { AcceptedKind, ReviewStatement } from '#core/domain/review-statements.ts'
import { foldKey } from '#core/identity/fold.ts'
import { canonicalJson } from '#core/platform/digest.ts'
import { REVIEW_BOUNDS } from './bounds.ts'
import { ReviewRefused } from './review-refused.ts'
import { verifyReviewers, type Registry } from './reviewers.ts'
import { acceptanceInWords, assertComparable, kindsToAccept, subjectOf } from './transition.ts'

/** Who may review, and what a knowledge base asks for; every signature was verified. */
export type ReviewRules = Awaited<ReturnType<typeof readReviewRules>>

/** @throws ReviewRefused when a policy of the knowledge base is not signed by its reviewers. */
export async function readReviewRules(database: Queryable, knowledgeBaseId: string) {
  const registry = await readRegistry(database)
  return { registry, inForce: registry.policyOf(knowledgeBaseId) }
}

/** Reviewers whose endorsements hold. */
export async function readRegistry(database: Queryable): Promise<Registry> {
  return verifyReviewers(
    await listReviewers(database, REVIEW_BOUNDS.reviewersMax + 1),
    await listReviewPolicies(database, REVIEW_BOUNDS.reviewPoliciesMax + 1),
  )
}

/** Who approved a transition, and what they accepted by name. */
export type Approved = ReturnType<typeof assertApproved>

/** Reads reviewers, policies and the reviews of this step, and verifies them. @throws ReviewRefused */
export async function readApproval(database: Queryable, version: VersionRow, predecessor: Predecessor) {
  const rules = await readReviewRules(database, version.knowledge_base_id)
  const reviews = await newestSignedReviews(database, { versionId: version.id, predecessor })
  assertComparable(version, predecessor.versionId)
  const { policy } = rules.inForce
  return assertApproved(version, predecessor, rules, reviews, kindsToAccept(version, policy), policy.reviewers)
}

/**
 * Reads who approved the return to an earlier version. A return accepts no kind of change: the version was approved when
 * it first became active.
 * @returns undefined where the policy asks for no approval.
 * @throws ReviewRefused
 */
export async function readReturnApproval(database: Queryable, version: VersionRow, predecessor: Predecessor) {
  const rules = await readReviewRules(database, version.knowledge_base_id)
  const { rollback_reviewers: required } = rules.inForce.policy
  if (required === 0) return undefined
  const reviews = await newestSignedReviews(database, { versionId: version.id, predecessor })
  return assertApproved(version, predecessor, rules, reviews, [], required)
}

/**
 * Checks that enough different reviewers approve the transition from the predecessor to the version.
 * @param reviews the newest of each reviewer about this transition.
 * @throws ReviewRefused
 */
function assertApproved(
  version: VersionRow,
  predecessor: Predecessor,
  { registry, inForce: { policy } }: ReviewRules,
  reviews: readonly SignedReviewRow[],
  toAccept: readonly AcceptedKind[],
  required: number,
) {
  const counted: ReviewerRow[] = []
  let startedByReviewer = false
  for (const review of reviews) {
    const reviewer = registry.byId(review.reviewer_id)
    if (reviewer === undefined || reviewer.retired_at !== null) continue
    assertReview(review, reviewer, version, predecessor, toAccept, policy)
    if (policy.exclude_build_starter && isBuildStarter(reviewer, version)) startedByReviewer = true
    else counted.push(reviewer)
  }
  if (counted.length < required)
    throw new ReviewRefused(missingInWords(version, toAccept, { required, counted: counted.length, startedByReviewer }))
  return { reviewers: counted.map(({ id, name }) => ({ id, name })), accepted: toAccept }
}

/** @throws ReviewRefused unless the review is signed by the reviewer, approves, and is about what is on record. */
function assertReview(
  review: SignedReviewRow,
  reviewer: ReviewerRow,
  version: VersionRow,
  predecessor: Predecessor,
  toAccept: readonly AcceptedKind[],
  policy: ReviewPolicy,
): void {
  const again = `"${reviewer.name}" signs again with "operator review sign".`
  const statement = parseStatement<ReviewStatement>(reviewStatementSchema, review.statement)
  if (statement === undefined || !statementSignatureHolds(review.statement, review.signature, reviewer.public_key))
    throw new ReviewRefused(`The signature of the review of "${reviewer.name}" does not hold: ${again}`)
  const { verdict, accepts, note: _note, reviewer: signer, audit_head: _head, ...subject } = statement
  const about = canonicalJson(subject) === canonicalJson(subjectOf(version, predecessor))
  if (!about || signer.id !== reviewer.id || verdict !== review.verdict)
    throw new ReviewRefused(`The review of "${reviewer.name}" is about other bytes than those on record: ${again}`)
  if (verdict === 'rejected')
    throw new ReviewRefused(`"${reviewer.name}" rejects the version: build another candidate from corrected sources.`)
  const open = toAccept.find(({ kind, count }) => !accepts.some((one) => one.kind === kind && one.count === count))
  if (open !== undefined)
    throw new ReviewRefused(
      `The approval of "${reviewer.name}" does not accept ${acceptanceInWords(open, version, policy)}: ` +
        `${again.slice(0, -1)} and --accept ${toAccept.map(({ kind }) => kind).join(',')}.`,
    )
}

/**
 * A reviewer is taken for who started the build if the name is the actor's or the stated login is that of the session.
 * The actor is free text; only the login is vouched for, by Postgres.
 */
function isBuildStarter(reviewer: ReviewerRow, version: VersionRow): boolean {
  const named = foldKey(version.started_by) === foldKey(reviewer.name)
  const loggedIn = reviewer.login !== null && reviewer.login === version.started_login
  return named || loggedIn
}

interface Missing {
  readonly required: number
  readonly counted: number
  readonly startedByReviewer: boolean
}

function missingInWords(
  version: VersionRow,
  toAccept: readonly AcceptedKind[],
  { required, counted, startedByReviewer }: Missing,
): string {
  const kinds = toAccept.map(({ kind }) => kind)
  const next = signCommand(version.id, kinds)
  if (startedByReviewer)
    return (
      `The approval of who started the build does not count in "${version.knowledge_base}": ` +
      `another reviewer signs with "${next}".`
    )
  if (counted === 0)
    return `No active reviewer approves the step from the active version to this one: sign it with "${next}".`
  return (
    `"${version.knowledge_base}" requires ${required} reviewers and ${counted} approved: ` +
    `another one signs with "${next}".`
  )
}
