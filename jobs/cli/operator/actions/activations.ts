import { randomUUID } from 'node:crypto'
import { OperatorError } from '#core/platform/errors.ts'
import { insertActivation } from '#core/db/activations.ts'
import type { ActivationRow } from '#core/db/activations.ts'
import { activePointer } from '#core/db/corpus-lists.ts'
import type { Queryable } from '#core/db/pool.ts'
import { readVersion } from '#core/db/versions.ts'
import { ActivationRefused, assertActivatable } from '#jobs/activate/check.ts'
import { versionNamed } from './names.ts'
import { handOver, recorded } from './operator.ts'
import type { Enqueue, Operator } from './operator.ts'

export interface ActivationAsked {
  readonly id: string
  readonly kind: 'activate' | 'rollback'
  readonly version_id: string
  readonly knowledge_base: string
  readonly replaces: string | null
}

/**
 * Requests the activation of a reviewed candidate, with the version that is active now as the expected one.
 * @param input.override reason to activate it although the evaluation found it worse than the active version.
 */
export async function requestActivation(
  operator: Operator,
  input: { readonly version: string; readonly override?: string | undefined },
  enqueue: Enqueue,
): Promise<ActivationAsked> {
  const { id, knowledge_base, knowledge_base_id } = await versionNamed(operator.database, input.version)
  const expectedVersionId = await activeVersion(operator, knowledge_base_id)
  const asked = {
    kind: 'activate',
    versionId: id,
    knowledgeBaseId: knowledge_base_id,
    expectedVersionId,
    overrideReason: input.override ?? null,
  } as const
  return ask(operator, asked, knowledge_base, enqueue)
}

export async function activeVersion(operator: Operator, knowledgeBaseId: string): Promise<string | null> {
  return (await activePointer(operator.database, knowledgeBaseId))?.version_id ?? null
}

interface Asked {
  readonly kind: ActivationAsked['kind']
  readonly versionId: string
  readonly knowledgeBaseId: string
  /** The version that is active at the time of the request. */
  readonly expectedVersionId: string | null
  readonly overrideReason: string | null
}

/** Refuses early what the worker's check would refuse. The worker repeats the check under its locks. */
export async function ask(
  operator: Operator,
  asked: Asked,
  knowledgeBase: string,
  enqueue: Enqueue,
): Promise<ActivationAsked> {
  const { kind, versionId, knowledgeBaseId, expectedVersionId: expected, overrideReason } = asked
  const id = randomUUID()
  const result = await recorded(operator, async (client) => {
    const row: ActivationRow = {
      id,
      kind,
      knowledge_base_id: knowledgeBaseId,
      version_id: versionId,
      expected_version_id: expected,
      actor: operator.actor,
      override_reason: overrideReason,
      state: 'queued',
      message: null,
    }
    await assertWorthAsking(client, row)
    await insertActivation(client, { ...asked, id, actor: operator.actor })
    const told: ActivationAsked = { id, kind, version_id: versionId, knowledge_base: knowledgeBase, replaces: expected }
    const audit = {
      action: `version.request-${kind}`,
      subject: `version:${versionId}`,
      detail: { knowledge_base: knowledgeBase, activation_id: id, replaces: expected, override_reason: overrideReason },
    }
    return { result: told, audit }
  })
  await handOver(enqueue, id, 'versions list')
  return result
}

async function assertWorthAsking(client: Queryable, row: ActivationRow): Promise<void> {
  try {
    assertActivatable(row, await readVersion(client, row.version_id))
  } catch (error) {
    if (error instanceof ActivationRefused) throw new OperatorError(error.message, { cause: error })
    throw error
  }
}
