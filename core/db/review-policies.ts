import { z } from 'zod'
import { DEFAULT_REVIEW_POLICY, type ReviewPolicy } from '#core/domain/review-policy.ts'
import { parseStatement, policyStatementSchema } from '#core/domain/review-statements.ts'
import type { Queryable } from './pool.ts'
import { changesOne, rowsOf, valueOf } from './rows.ts'

/** A signature of the statement beside it. */
export const signatureSchema = z.strictObject({
  reviewer: z.uuid(),
  /** Base64. */
  signature: z.string(),
})
export type StatementSignature = z.infer<typeof signatureSchema>
const policyRow = z.object({
  knowledge_base_id: z.uuid(),
  seq: z.int(),
  statement: z.string(),
  signatures: z.array(signatureSchema).readonly(),
  /** The order of reviewers and policies. */
  change: z.int(),
  created_at: z.date(),
})
/** A policy of a knowledge base as its reviewers signed it; the newest is in force. */
export type ReviewPolicyRow = z.infer<typeof policyRow>

/** Those of every knowledge base, oldest first: an endorsement needs what the strictest one asks for. */
export const listReviewPolicies = rowsOf(policyRow)<[limit: number]>`
  select knowledge_base_id, seq, statement, signatures, change::float8 as change, created_at from review_policies
  order by change limit $1`

/** @returns false when another policy was set meanwhile. */
export const insertReviewPolicy = changesOne.named<
  Pick<ReviewPolicyRow, 'knowledge_base_id' | 'seq' | 'statement' | 'signatures'>
>`
  insert into review_policies (knowledge_base_id, seq, statement, signatures)
  values (:knowledge_base_id, :seq, :statement, :signatures::jsonb) on conflict do nothing`

const newestStatement = valueOf(z.string().default(''))<[knowledgeBaseId: string]>`
  select statement from review_policies where knowledge_base_id = $1 order by seq desc limit 1`

/** The policy to show in a report. Signatures are verified where a candidate becomes active, not here. */
export async function readStatedPolicy(database: Queryable, knowledgeBaseId: string): Promise<ReviewPolicy> {
  const statement = await newestStatement(database, knowledgeBaseId)
  return parseStatement(policyStatementSchema, statement)?.policy ?? DEFAULT_REVIEW_POLICY
}
