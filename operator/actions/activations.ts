import { randomUUID } from 'node:crypto'
import { insertActivation } from '#core/db/activations.ts'
import type { ActivationRow } from '#core/db/activations.ts'
import { activePointer } from '#core/db/corpus-lists.ts'
import { readVersion } from '#core/db/versions.ts'
import { changesInWords } from '#core/domain/changes.ts'
import type { SignedStore } from '#core/index/format/store.ts'
import { checkActivatable } from '#jobs/activate/check.ts'
import type { Approved } from '#jobs/review/approvals.ts'
import { assertArtifactAsRecorded } from '#jobs/review/files.ts'
import { versionNamed, versionRowNamed } from './names.ts'
import { enqueueCommitted, withAudit } from './operator.ts'
import type { Enqueue, Operator } from './operator.ts'

export interface ActivationAsked {
  readonly id: string
  readonly kind: 'activate' | 'rollback'
  readonly version_id: string
  readonly knowledge_base: string
  readonly replaces: string | null
}

/** The changes of an activation, and who approved them. */
export interface ActivationPlan {
  readonly version_id: string
  readonly knowledge_base: string
  /** The version that is active now; null if none is. */
  readonly replaces: string | null
  /** `169 → 10 passages, 159 removed, 3 changed`. */
  readonly changes: string
  readonly approved: Approved
}

/**
 * Checks what the job worker checks, against the version that is active now.
 * @throws OperatorError when the version cannot become active.
 */
export async function planActivation(operator: Operator, versionId: string): Promise<ActivationPlan> {
  const { id, knowledge_base, knowledge_base_id, passages } = await versionNamed(operator.database, versionId)
  const replaces = await activeVersion(operator, knowledge_base_id)
  const asked = { kind: 'activate', knowledge_base_id, expected_version_id: replaces } as const
  const found = await readVersion(operator.database, id)
  const { version, approved } = await checkActivatable(operator.database, asked, found)
  const changes = version.comparison?.changes ?? undefined
  return {
    version_id: id,
    knowledge_base,
    replaces,
    changes: changes === undefined ? `first version: ${passages} passages` : changesInWords(changes),
    approved: approved ?? { reviewers: [], accepted: [] },
  }
}

/**
 * Hashes the artifact of a version on this machine, so that a version whose files are gone or altered is refused before
 * anything is asked. The worker and every search node do the same.
 * @throws ReviewRefused
 */
export async function assertArtifactOf(operator: Operator, store: SignedStore, versionId: string): Promise<void> {
  await assertArtifactAsRecorded(store, await versionRowNamed(operator.database, versionId))
}

/**
 * Requests the activation of an approved candidate.
 * @param input.replaces the version that a plan named; default: the one that is active now.
 */
export async function requestActivation(
  operator: Operator,
  input: { readonly version: string; readonly replaces?: string | null },
  enqueue: Enqueue,
): Promise<ActivationAsked> {
  const { id, knowledge_base, knowledge_base_id } = await versionNamed(operator.database, input.version)
  const expectedVersionId =
    input.replaces === undefined ? await activeVersion(operator, knowledge_base_id) : input.replaces
  const asked = { kind: 'activate', versionId: id, knowledgeBaseId: knowledge_base_id, expectedVersionId } as const
  return submitActivation(operator, asked, knowledge_base, enqueue)
}

async function activeVersion(operator: Operator, knowledgeBaseId: string): Promise<string | null> {
  return (await activePointer(operator.database, knowledgeBaseId))?.version_id ?? null
}

interface NewRequest {
  readonly kind: ActivationAsked['kind']
  readonly versionId: string
  readonly knowledgeBaseId: string
  /** The version that is active at the time of the request. */
  readonly expectedVersionId: string | null
}

/** Refuses early what the worker's check would refuse. The worker repeats the check under its locks. */
export async function submitActivation(
  operator: Operator,
  asked: NewRequest,
  knowledgeBase: string,
  enqueue: Enqueue,
): Promise<ActivationAsked> {
  const { kind, versionId, knowledgeBaseId, expectedVersionId: expected } = asked
  const id = randomUUID()
  const result = await withAudit(operator, async (client) => {
    const row: ActivationRow = {
      id,
      kind,
      knowledge_base_id: knowledgeBaseId,
      version_id: versionId,
      expected_version_id: expected,
      actor: operator.actor,
      state: 'queued',
      message: null,
    }
    await checkActivatable(client, row, await readVersion(client, versionId))
    await insertActivation(client, { ...asked, id, actor: operator.actor })
    const activation: ActivationAsked = {
      id,
      kind,
      version_id: versionId,
      knowledge_base: knowledgeBase,
      replaces: expected,
    }
    const audit = {
      action: `version.request-${kind}`,
      subject: `version:${versionId}`,
      detail: { knowledge_base: knowledgeBase, activation_id: id, replaces: expected },
    }
    return { result: activation, audit }
  })
  await enqueueCommitted(enqueue, id, 'versions list')
  return result
}
