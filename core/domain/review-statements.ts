import { z } from 'zod'
import { canonicalJson } from '#core/platform/digest.ts'
import { SEARCH_BOUNDS } from './bounds.ts'
import { CHANGE_KINDS } from './changes.ts'
import { REVIEWERS_REQUIRED_MAX, reviewPolicySchema } from './review-policy.ts'

/**
 * What reviewers sign: canonical JSON in UTF-8. `format` names the kind of statement, so that a signature under one
 * kind is never valid under another.
 */

export const VERDICTS = ['approved', 'rejected'] as const
export type Verdict = (typeof VERDICTS)[number]

/** Kinds that an approval may accept by name; `ranking` is a ranking worse than that of the active version. */
export const ACCEPTABLE_KINDS = [...CHANGE_KINDS, 'ranking'] as const
export type AcceptableKind = (typeof ACCEPTABLE_KINDS)[number]

const sha256Hex = z.string().regex(/^[0-9a-f]{64}$/)
const knowledgeBase = z.strictObject({ id: z.uuid(), slug: z.string() })

export const acceptedKindSchema = z.strictObject({
  kind: z.enum(ACCEPTABLE_KINDS),
  /** Number of changes of the kind; of `ranking`, number of metrics. */
  count: z.int().positive(),
})
export type AcceptedKind = z.infer<typeof acceptedKindSchema>

/** A verdict about the transition from the active version (`predecessor`) to a candidate. */
export const reviewStatementSchema = z.strictObject({
  format: z.literal('evidence review 1'),
  knowledge_base: knowledgeBase,
  candidate: z.uuid(),
  /** Null: no version was active. */
  predecessor: z.uuid().nullable(),
  /** Sequence of the activation by which it is active. Another activation, even of the same version, has another. */
  predecessor_activation: z.int().nullable(),
  manifest_sha256: sha256Hex,
  /** How the version is searched and when it abstains: digest of the parameters, the signal and the threshold. */
  profile: z.strictObject({ id: z.uuid(), sha256: sha256Hex }),
  /** Digests of the files that the reviewer reads. */
  report_sha256: sha256Hex,
  figures_sha256: sha256Hex,
  /** Null: there is no predecessor, so no list of changes. */
  changes_sha256: sha256Hex.nullable(),
  /** Null: known items. */
  question_set: sha256Hex.nullable(),
  /** Ids of withdrawals that do not apply to the version, and those of them whose passages it serves again. */
  withdrawals_decided: z.array(z.uuid()).max(SEARCH_BOUNDS.withdrawalsMax).readonly(),
  withdrawals_restored: z.array(z.uuid()).max(SEARCH_BOUNDS.withdrawalsMax).readonly(),
  verdict: z.enum(VERDICTS),
  accepts: z.array(acceptedKindSchema).max(ACCEPTABLE_KINDS.length).readonly(),
  note: z.string().max(2_000),
  reviewer: z.strictObject({ id: z.uuid(), name: z.string() }),
  /** The newest row of the audit trail at that time. */
  audit_head: z.strictObject({ seq: z.int(), hash: sha256Hex }).nullable(),
})
export type ReviewStatement = z.infer<typeof reviewStatementSchema>

/** A person who reviews, with the public key. Active reviewers endorse it; nobody endorses the first. */
export const reviewerStatementSchema = z.strictObject({
  format: z.literal('evidence reviewer 1'),
  id: z.uuid(),
  name: z.string(),
  /** The login of this person in Postgres; null: not stated. */
  login: z.string().nullable(),
  /** SPKI, DER, base64. */
  public_key: z.string(),
  /** Ids of those who endorse it, sorted. */
  endorsed_by: z.array(z.uuid()).max(REVIEWERS_REQUIRED_MAX).readonly(),
})
export type ReviewerStatement = z.infer<typeof reviewerStatementSchema>

/** The policy of a knowledge base. `seq` and the digest of the one before keep an old statement from being repeated. */
export const policyStatementSchema = z.strictObject({
  format: z.literal('evidence review policy 1'),
  knowledge_base: knowledgeBase,
  seq: z.int().positive(),
  /** Null: the first. */
  previous_sha256: sha256Hex.nullable(),
  policy: reviewPolicySchema,
})
export type PolicyStatement = z.infer<typeof policyStatementSchema>

/** Takes what it names out of service, until a version decides about it or a restoration ends it. */
export const withdrawalStatementSchema = z.strictObject({
  format: z.literal('evidence withdrawal 1'),
  id: z.uuid(),
  knowledge_base: knowledgeBase,
  /** As `Withdrawn` of `core/domain/search.ts`. */
  document: z.uuid(),
  provisions: z.array(z.uuid()).max(SEARCH_BOUNDS.withdrawnProvisionsMax).readonly(),
  chunk_id: z.string(),
  /** For people. */
  label: z.string().min(1).max(1_000),
  reason: z.string().min(1).max(2_000),
})

/** Ends a withdrawal, at once and for every version. */
export const restorationStatementSchema = z.strictObject({
  format: z.literal('evidence restoration 1'),
  knowledge_base: knowledgeBase,
  withdrawal: z.uuid(),
  /** Of its statement. */
  withdrawal_sha256: sha256Hex,
  reason: z.string().min(1).max(2_000),
})

/** Whatever reviewers sign. */
export type Statement =
  | ReviewStatement
  | ReviewerStatement
  | PolicyStatement
  | z.infer<typeof withdrawalStatementSchema>
  | z.infer<typeof restorationStatementSchema>

/** The bytes that are signed, as text. */
export function statementText(statement: Statement): string {
  return canonicalJson(statement)
}

/** @returns undefined unless the text is exactly what `statementText` writes for a statement of this schema. */
export function parseStatement<T extends Statement>(schema: z.ZodType<T>, text: string): T | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  const parsed = schema.safeParse(value)
  return parsed.success && statementText(parsed.data) === text ? parsed.data : undefined
}

/** Returns the command that signs an approval. @param kinds what it must accept by name. */
export function signCommand(versionId: string, kinds: readonly string[]): string {
  const accept = kinds.length === 0 ? '' : ` --accept ${kinds.join(',')}`
  return `operator review sign ${versionId} --key FILE --verdict approved --note TEXT${accept}`
}
