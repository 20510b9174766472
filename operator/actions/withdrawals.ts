import { randomUUID } from 'node:crypto'
import { signStatement } from '#core/credentials/reviewer-keys.ts'
import type { SigningKey } from '#core/credentials/reviewer-keys.ts'
import type { Queryable } from '#core/db/pool.ts'
import type { StatementSignature } from '#core/db/review-policies.ts'
import { lockReviewers } from '#core/db/reviewers.ts'
import {
  insertWithdrawal,
  listWithdrawals,
  readWithdrawal,
  restoreWithdrawal,
  withdrawalsInForce,
} from '#core/db/withdrawals.ts'
import type { WithdrawalRow } from '#core/db/withdrawals.ts'
import { SEARCH_BOUNDS } from '#core/domain/bounds.ts'
import { statementText } from '#core/domain/review-statements.ts'
import type { ArtifactStore } from '#core/index/format/store.ts'
import { sha256 } from '#core/platform/digest.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { readRegistry, readReviewRules } from '#jobs/review/approvals.ts'
import { signersOf } from '#jobs/review/policy.ts'
import type { Registry } from '#jobs/review/reviewers.ts'
import { isUuid, knowledgeBaseNamed, versionNamed } from './names.ts'
import { withAudit } from './operator.ts'
import type { Operator } from './operator.ts'
import { reviewerOf } from './reviewers.ts'
import { findTarget } from './withdrawal-target.ts'
import type { SearchedVersion } from './withdrawal-target.ts'

export interface WithdrawInput {
  readonly knowledgeBase: string
  /** A passage, a provision or a document, as `findTarget` takes it. */
  readonly what: string
  /** Undefined: a provision is looked for in every document. */
  readonly document?: string | undefined
  /** Where it is looked for; undefined: in the active version. */
  readonly version?: string | undefined
  readonly reason: string
}

export interface WithdrawalShown {
  readonly id: string
  readonly knowledge_base: string
  readonly kind: 'passage' | 'provision' | 'document'
  readonly label: string
  readonly reason: string
  readonly state: 'in force' | 'restored'
  /** Names of the reviewers who signed; `forged` where a signature does not hold. */
  readonly signed_by: readonly string[]
  readonly created_at: Date
  readonly restored_at: Date | null
}

/**
 * Takes a passage, a provision or a document out of service. It is in force on every gateway within five seconds, in
 * each version that did not decide about it.
 */
export async function withdraw(
  operator: Operator,
  store: ArtifactStore,
  input: WithdrawInput,
  keys: readonly SigningKey[],
): Promise<WithdrawalShown & { readonly passages: number }> {
  const base = await knowledgeBaseNamed(operator.database, input.knowledgeBase)
  const target = await findTarget(store, await versionToSearch(operator.database, base, input.version), input)
  const id = randomUUID()
  return withAudit(operator, async (client) => {
    await lockReviewers(client)
    await assertRoom(client, base)
    const { document, provisions, chunkId, label } = target
    const knowledgeBase = { id: base.id, slug: base.slug }
    const statement = statementText({
      format: 'evidence withdrawal 1',
      id,
      knowledge_base: knowledgeBase,
      document,
      provisions,
      chunk_id: chunkId,
      label,
      reason: input.reason,
    })
    const { signatures } = await signed(client, base.id, statement, keys)
    await insertWithdrawal(client, {
      id,
      knowledge_base_id: base.id,
      document_id: document,
      provisions: [...provisions],
      chunk_id: chunkId,
      label,
      reason: input.reason,
      statement,
      signatures,
    })
    const { shown, detail } = await described(client, id)
    return {
      result: { ...shown, passages: target.passages },
      audit: {
        action: 'withdrawal.begin',
        subject: `withdrawal:${id}`,
        detail: { ...detail, passages: target.passages },
      },
    }
  })
}

/** Ends a withdrawal at once: what the versions hold is served again. */
export async function restore(
  operator: Operator,
  withdrawal: string,
  reason: string,
  keys: readonly SigningKey[],
): Promise<WithdrawalShown> {
  return withAudit(operator, async (client) => {
    await lockReviewers(client)
    const row = await withdrawalNamed(client, withdrawal)
    const statement = statementText({
      format: 'evidence restoration 1',
      knowledge_base: { id: row.knowledge_base_id, slug: row.knowledge_base },
      withdrawal: row.id,
      withdrawal_sha256: sha256(row.statement).toString('hex'),
      reason,
    })
    const { signatures, names } = await signed(client, row.knowledge_base_id, statement, keys)
    if (!(await restoreWithdrawal(client, row.id, statement, signatures)))
      throw new OperatorError('The withdrawal is restored already: see "operator withdrawals list".')
    const { shown, detail } = await described(client, row.id)
    return {
      result: shown,
      audit: {
        action: 'withdrawal.restore',
        subject: `withdrawal:${row.id}`,
        detail: { ...detail, signed_by: names, restored_because: reason },
      },
    }
  })
}

export async function showWithdrawals(
  operator: Operator,
  knowledgeBase: string | undefined,
  limit: number,
): Promise<readonly WithdrawalShown[]> {
  const base = knowledgeBase === undefined ? null : (await knowledgeBaseNamed(operator.database, knowledgeBase)).id
  const registry = await readRegistry(operator.database)
  return (await listWithdrawals(operator.database, base, limit)).map((row) => shownOf(row, registry))
}

async function withdrawalNamed(database: Queryable, id: string): Promise<WithdrawalRow> {
  const row = isUuid(id) ? await readWithdrawal(database, id) : undefined
  if (row === undefined) throw new OperatorError(`There is no withdrawal "${id}": see "operator withdrawals list".`)
  return row
}

async function versionToSearch(
  database: Queryable,
  base: Awaited<ReturnType<typeof knowledgeBaseNamed>>,
  version: string | undefined,
): Promise<SearchedVersion> {
  if (version === undefined) {
    if (base.active_version_id !== null) return { id: base.active_version_id, knowledge_base: base.slug }
    throw new OperatorError(`No version of "${base.slug}" is active: name one with --version VERSION.`)
  }
  const row = await versionNamed(database, version)
  if (row.knowledge_base !== base.slug)
    throw new OperatorError(`The version belongs to "${row.knowledge_base}", not to "${base.slug}": correct one.`)
  return row
}

async function assertRoom(database: Queryable, base: { readonly id: string; readonly slug: string }): Promise<void> {
  const inForce = (await withdrawalsInForce(database, base.id)).length
  if (inForce >= SEARCH_BOUNDS.withdrawalsMax)
    throw new OperatorError(
      `${inForce} withdrawals of "${base.slug}" are in force, which is the most that a search carries: withdraw whole ` +
        'documents, or build a version that decides about them and restore those that nothing holds any more.',
    )
}

/** @throws OperatorError unless as many different reviewers sign as the policy in force asks for. */
async function signed(
  client: Queryable,
  knowledgeBaseId: string,
  statement: string,
  keys: readonly SigningKey[],
): Promise<{ readonly signatures: readonly StatementSignature[]; readonly names: readonly string[] }> {
  const { registry, inForce } = await readReviewRules(client, knowledgeBaseId)
  const signers = new Map(keys.map((key) => [reviewerOf(registry, key).id, key] as const))
  const { withdrawal_reviewers: required } = inForce.policy
  if (signers.size < required)
    throw new OperatorError(
      `The policy in force asks for the signatures of ${required} different reviewers, and ${signers.size} signed: ` +
        'add --key FILE for each.',
    )
  const signatures = [...signers].map(([reviewer, key]) => ({
    reviewer,
    signature: signStatement(statement, key).toString('base64'),
  }))
  return { signatures, names: signatures.map(({ reviewer }) => registry.byId(reviewer)?.name ?? reviewer) }
}

async function described(
  client: Queryable,
  id: string,
): Promise<{ readonly shown: WithdrawalShown; readonly detail: Record<string, unknown> }> {
  const row = await withdrawalNamed(client, id)
  const shown = shownOf(row, await readRegistry(client))
  const { knowledge_base, kind, label, reason, signed_by } = shown
  const named = { document: row.document_id, provisions: row.provisions, chunk_id: row.chunk_id }
  return { shown, detail: { knowledge_base, kind, label, reason, signed_by, ...named } }
}

function shownOf(row: WithdrawalRow, registry: Registry): WithdrawalShown {
  return {
    id: row.id,
    knowledge_base: row.knowledge_base,
    kind: row.chunk_id !== '' ? 'passage' : row.provisions.length > 0 ? 'provision' : 'document',
    label: row.label,
    reason: row.reason,
    state: row.restored_at === null ? 'in force' : 'restored',
    signed_by: [
      ...signerNames(row.statement, row.signatures, row.created_at, registry),
      ...(row.restored_at === null
        ? []
        : signerNames(row.restoration ?? '', row.restoration_signatures ?? [], row.restored_at, registry)),
    ],
    created_at: row.created_at,
    restored_at: row.restored_at,
  }
}

function signerNames(
  statement: string,
  signatures: readonly StatementSignature[],
  at: Date,
  registry: Registry,
): readonly string[] {
  return signatures.map((one) => {
    const holds = signersOf(statement, [one], at, (id) => registry.byId(id)) === 1
    return holds ? (registry.byId(one.reviewer)?.name ?? one.reviewer) : 'forged'
  })
}
