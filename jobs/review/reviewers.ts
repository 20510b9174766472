import type { ReviewPolicyRow, StatementSignature } from '#core/db/review-policies.ts'
import type { ReviewerRow } from '#core/db/reviewers.ts'
import {
  parseStatement,
  reviewerStatementSchema,
  type ReviewerStatement,
  policyStatementSchema,
  type PolicyStatement,
} from '#core/domain/review-statements.ts'
import { foldKey } from '#core/identity/fold.ts'
import { REVIEW_BOUNDS } from './bounds.ts'
import { ReviewRefused } from './review-refused.ts'
import { statementSignatureHolds } from '#core/credentials/reviewer-keys.ts'
import { DEFAULT_REVIEW_POLICY, type ReviewPolicy } from '#core/domain/review-policy.ts'
import { sha256 } from '#core/platform/digest.ts'

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

/** The policy in force, and what the statement of the next one must name. */
interface PolicyInForce {
  readonly policy: ReviewPolicy
  /** 0: the default, which nobody signed. */
  readonly seq: number
  readonly sha256: string | null
}

const DEFAULT_IN_FORCE: PolicyInForce = { policy: DEFAULT_REVIEW_POLICY, seq: 0, sha256: null }

/** A reviewer who was added and not yet retired at that time. */
type ActiveAt = (id: string, at: Date) => ReviewerRow | undefined

/** The policies of all knowledge bases, added in their order. */
function createPolicies(activeAt: ActiveAt) {
  const inForce = new Map<string, PolicyInForce>()
  const forged = new Map<string, number>()
  return {
    /** A policy that does not follow the one before, or is not signed by as many as that one requires, changes nothing. */
    add({ knowledge_base_id: base, seq, statement: text, signatures, created_at: at }: ReviewPolicyRow) {
      const before = inForce.get(base) ?? DEFAULT_IN_FORCE
      const statement = parseStatement<PolicyStatement>(policyStatementSchema, text)
      const follows =
        statement?.knowledge_base.id === base &&
        statement.seq === before.seq + 1 &&
        statement.previous_sha256 === before.sha256
      if (statement !== undefined && follows && signersOf(text, signatures, at, activeAt) >= before.policy.reviewers)
        inForce.set(base, { policy: statement.policy, seq: statement.seq, sha256: sha256(text).toString('hex') })
      else if (!forged.has(base)) forged.set(base, seq)
    },
    /** @throws ReviewRefused when a policy of the knowledge base changed nothing. */
    inForce(base: string) {
      const seq = forged.get(base)
      if (seq !== undefined)
        throw new ReviewRefused(
          `Review policy ${seq} of the knowledge base is not signed by its reviewers, so nothing can be approved: ` +
            'the owner of the schema removes the row.',
        )
      return inForce.get(base) ?? DEFAULT_IN_FORCE
    },
    strictest: () => Math.max(1, ...[...inForce.values()].map(({ policy }) => policy.reviewers)),
  }
}

/** Number of different reviewers who were active at that time and whose signature of the statement holds. */
export function signersOf(statement: string, signatures: readonly StatementSignature[], at: Date, activeAt: ActiveAt) {
  const holding = signatures.filter(({ reviewer, signature }) => {
    const row = activeAt(reviewer, at)
    return row !== undefined && statementSignatureHolds(statement, Buffer.from(signature, 'base64'), row.public_key)
  })
  return new Set(holding.map(({ reviewer }) => reviewer)).size
}
