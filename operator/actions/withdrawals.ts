import { randomUUID } from 'node:crypto'
import type { SigningKey } from '#core/credentials/reviewer-keys.ts'
import type { Queryable } from '#core/db/pool.ts'
import type { StatementSignature } from '#core/db/review-policies.ts'
import { lockReviewers } from '#core/db/reviewers.ts'
import { insertWithdrawal, listWithdrawals, restoreWithdrawal, withdrawalsInForce } from '#core/db/withdrawals.ts'
import type { WithdrawalRow } from '#core/db/withdrawals.ts'
import { SEARCH_BOUNDS } from '#core/domain/bounds.ts'
import { statementText } from '#core/domain/review-statements.ts'
import type { ArtifactStore } from '#core/index/format/store.ts'
import { sha256 } from '#core/platform/digest.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { readRegistry, readReviewRules } from '#jobs/review/approvals.ts'
import { signersOf as countSigners } from '#jobs/review/policy.ts'
import type { Registry } from '#jobs/review/reviewers.ts'
import { idOf, knowledgeBaseNamed, versionNamed, withdrawalNamed } from './names.ts'
import { withAudit } from './operator.ts'
import type { Operator } from './operator.ts'
import { signaturesOf, signersOf } from './reviewers.ts'
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
  return withAudit(operator, 'withdrawal.begin', async (client) => {
    await lockReviewers(client)
    await assertRoom(client, base)
    const { document, provisions, chunkId: chunk_id, label, passages } = target
    const { reason } = input
    const statement = statementText({
      format: 'evidence withdrawal 1',
      id,
      knowledge_base: { id: base.id, slug: base.slug },
      document,
      provisions,
      chunk_id,
      label,
      reason,
    })
    const { signatures } = await signed(client, base.id, statement, keys)
    const names = { document_id: document, provisions: [...provisions], chunk_id, label }
    await insertWithdrawal(client, { id, knowledge_base_id: base.id, ...names, reason, statement, signatures })
    const { shown, detail } = await described(client, id)
    return [{ ...shown, passages }, `withdrawal:${id}`, { ...detail, passages }]
  })
}

/** Ends a withdrawal at once: what the versions hold is served again. */
export async function restore(
  operator: Operator,
  withdrawal: string,
  reason: string,
  keys: readonly SigningKey[],
): Promise<WithdrawalShown> {
  return withAudit(operator, 'withdrawal.restore', async (client) => {
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
    return [shown, `withdrawal:${row.id}`, { ...detail, signed_by: names, restored_because: reason }]
  })
}

export async function showWithdrawals(
  operator: Operator,
  knowledgeBase: string | undefined,
  limit: number,
): Promise<readonly WithdrawalShown[]> {
  const base = await idOf(knowledgeBaseNamed, operator.database, knowledgeBase)
  const registry = await readRegistry(operator.database)
  return (await listWithdrawals(operator.database, base, limit)).map((row) => shownOf(row, registry))
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
  const signers = signersOf(registry, keys)
  const { withdrawal_reviewers: required } = inForce.policy
  if (signers.size < required)
    throw new OperatorError(
      `The policy in force asks for the signatures of ${required} different reviewers, and ${signers.size} signed: ` +
        'add --key FILE for each.',
    )
  const signatures = signaturesOf(statement, signers)
  return { signatures, names: signatures.map(({ reviewer }) => registry.byId(reviewer)?.name ?? reviewer) }
}

async function described(client: Queryable, id: string) {
  const row = await withdrawalNamed(client, id)
  const { document_id: document, provisions, chunk_id } = row
  const shown = shownOf(row, await readRegistry(client))
  const { knowledge_base, kind, label, reason, signed_by } = shown
  return { shown, detail: { knowledge_base, kind, label, reason, signed_by, document, provisions, chunk_id } }
}

type WithdrawalShown = ReturnType<typeof shownOf>

function shownOf(row: WithdrawalRow, registry: Registry) {
  const { id, knowledge_base, chunk_id, provisions, label, reason, created_at, restored_at } = row
  const { restoration, restoration_signatures: again } = row
  /** `forged` where a signature does not hold. */
  const names = (statement: string, signatures: readonly StatementSignature[], at: Date): readonly string[] =>
    signatures.map((one) => {
      const holds = countSigners(statement, [one], at, (reviewer) => registry.byId(reviewer)) === 1
      return holds ? (registry.byId(one.reviewer)?.name ?? one.reviewer) : 'forged'
    })
  return {
    id,
    knowledge_base,
    kind: chunk_id !== '' ? 'passage' : provisions.length > 0 ? 'provision' : 'document',
    label,
    reason,
    state: restored_at === null ? 'in force' : 'restored',
    signed_by: [
      ...names(row.statement, row.signatures, created_at),
      ...(restored_at === null ? [] : names(restoration ?? '', again ?? [], restored_at)),
    ],
    created_at,
    restored_at,
  }
}
