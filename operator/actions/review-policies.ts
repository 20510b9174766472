import type { SigningKey } from '#core/credentials/reviewer-keys.ts'
import { insertReviewPolicy } from '#core/db/review-policies.ts'
import { lockReviewers } from '#core/db/reviewers.ts'
import type { ChangeKind } from '#core/domain/changes.ts'
import { reviewPolicySchema } from '#core/domain/review-policy.ts'
import type { ReviewPolicy } from '#core/domain/review-policy.ts'
import { statementText } from '#core/domain/review-statements.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { REVIEW_BOUNDS } from '#jobs/review/bounds.ts'
import { readReviewRules } from '#jobs/review/approvals.ts'
import type { ReviewRules } from '#jobs/review/approvals.ts'
import { knowledgeBaseNamed } from './names.ts'
import { withAudit } from './operator.ts'
import type { Operator } from './operator.ts'
import { signaturesOf, signersOf } from './reviewers.ts'

interface PolicyChange {
  readonly reviewers?: number | undefined
  readonly rollbackReviewers?: number | undefined
  readonly withdrawalReviewers?: number | undefined
  readonly excludeBuildStarter?: boolean | undefined
  readonly limits?: Partial<Record<ChangeKind, number>> | undefined
}

interface PolicyShown extends ReviewPolicy {
  readonly knowledge_base: string
  /** 0: the default. */
  readonly seq: number
}

export async function showReviewPolicy(operator: Operator, knowledgeBase: string): Promise<PolicyShown> {
  const { id, slug } = await knowledgeBaseNamed(operator.database, knowledgeBase)
  const { inForce } = await readReviewRules(operator.database, id)
  return { knowledge_base: slug, seq: inForce.seq, ...inForce.policy }
}

/**
 * Changes what a knowledge base asks of reviews. As many reviewers sign as the policy in force requires, so that no
 * limit is raised without them.
 */
export async function changeReviewPolicy(
  operator: Operator,
  knowledgeBase: string,
  change: PolicyChange,
  keys: readonly SigningKey[],
): Promise<PolicyShown> {
  return withAudit(operator, 'knowledge-base.policy', async (client) => {
    await lockReviewers(client)
    const { id, slug } = await knowledgeBaseNamed(client, knowledgeBase)
    const rules = await readReviewRules(client, id)
    const { inForce } = rules
    const policy = reviewPolicySchema.parse({
      reviewers: change.reviewers ?? inForce.policy.reviewers,
      rollback_reviewers: change.rollbackReviewers ?? inForce.policy.rollback_reviewers,
      withdrawal_reviewers: change.withdrawalReviewers ?? inForce.policy.withdrawal_reviewers,
      exclude_build_starter: change.excludeBuildStarter ?? inForce.policy.exclude_build_starter,
      limits: { ...inForce.policy.limits, ...change.limits },
    })
    const signers = enoughSigners(rules, keys, policy)
    const seq = inForce.seq + 1
    if (rules.registry.policies >= REVIEW_BOUNDS.reviewPoliciesMax)
      throw new OperatorError(
        `There are ${rules.registry.policies} review policies already, which is the most that is supported.`,
      )
    const statement = statementText({
      format: 'evidence review policy 1',
      knowledge_base: { id, slug },
      seq,
      previous_sha256: inForce.sha256,
      policy,
    })
    if (!(await insertReviewPolicy(client, id, { seq, statement, signatures: signaturesOf(statement, signers) })))
      throw new OperatorError(`The policy of "${slug}" was changed meanwhile: look at it and repeat the command.`)
    const names = [...signers.keys()].map((signer) => rules.registry.byId(signer)?.name)
    const detail = { knowledge_base: slug, seq, before: inForce.policy, after: policy, reviewers: names }
    return [{ knowledge_base: slug, seq, ...policy }, `knowledge-base:${id}`, detail]
  })
}

/** The keys by reviewer, of as many as the policy in force asks for. */
function enoughSigners(
  { registry, inForce }: ReviewRules,
  keys: readonly SigningKey[],
  next: ReviewPolicy,
): ReadonlyMap<string, SigningKey> {
  const signers = signersOf(registry, keys)
  const { reviewers } = inForce.policy
  if (signers.size < reviewers)
    throw new OperatorError(
      `The policy in force asks for ${reviewers} different reviewers, and ${signers.size} signed: add --key for each.`,
    )
  const asked = Math.max(next.reviewers, next.rollback_reviewers, next.withdrawal_reviewers)
  if (registry.active.length < asked)
    throw new OperatorError(
      `There are ${registry.active.length} active reviewers, so ${asked} could never approve: add reviewers first.`,
    )
  return signers
}
