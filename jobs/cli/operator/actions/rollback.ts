import { OperatorError } from '#core/platform/errors.ts'
import { earlierVersion } from '#core/db/activations.ts'
import { activeVersion, ask } from './activations.ts'
import type { ActivationAsked } from './activations.ts'
import { knowledgeBaseNamed, versionNamed } from './names.ts'
import type { Enqueue, Operator } from './operator.ts'

/** @param input.to the version to return to; the default is that of `earlierVersion`. */
export async function requestRollback(
  operator: Operator,
  input: { readonly knowledgeBase: string; readonly to?: string | undefined },
  enqueue: Enqueue,
): Promise<ActivationAsked> {
  const base = await knowledgeBaseNamed(operator.database, input.knowledgeBase)
  // The active version is read once. The chosen version is earlier, and the worker refuses when another became active
  // meanwhile.
  const expectedVersionId = await activeVersion(operator, base.id)
  const wanted =
    input.to ?? (expectedVersionId === null ? undefined : await earlierVersion(operator.database, expectedVersionId))
  if (wanted === undefined)
    throw new OperatorError(
      `"${base.slug}" has no earlier version to return to: choose one from "operator versions list ` +
        `--knowledge-base ${base.slug}" and name it with --to.`,
    )
  const { id } = await versionNamed(operator.database, wanted)
  return ask(
    operator,
    { kind: 'rollback', versionId: id, knowledgeBaseId: base.id, expectedVersionId, overrideReason: null },
    base.slug,
    enqueue,
  )
}
