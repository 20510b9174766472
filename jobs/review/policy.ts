import { statementSignatureHolds } from '#core/credentials/reviewer-keys.ts'
import type { ReviewPolicyRow, StatementSignature } from '#core/db/review-policies.ts'
import type { ReviewerRow } from '#core/db/reviewers.ts'
import { DEFAULT_REVIEW_POLICY, type ReviewPolicy } from '#core/domain/review-policy.ts'
import { parseStatement, policyStatementSchema, type PolicyStatement } from '#core/domain/review-statements.ts'
import { sha256 } from '#core/platform/digest.ts'
import { ReviewRefused } from './review-refused.ts'

/** The policy in force, and what the statement of the next one must name. */
export interface PolicyInForce {
  readonly policy: ReviewPolicy
  /** 0: the default, which nobody signed. */
  readonly seq: number
  readonly sha256: string | null
}

const DEFAULT_IN_FORCE: PolicyInForce = { policy: DEFAULT_REVIEW_POLICY, seq: 0, sha256: null }

/** A reviewer who was added and not yet retired at that time. */
export type ActiveAt = (id: string, at: Date) => ReviewerRow | undefined

/** The policies of all knowledge bases, added in their order. */
export function createPolicies(activeAt: ActiveAt) {
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
    /** The most reviewers that a policy in force requires. */
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
