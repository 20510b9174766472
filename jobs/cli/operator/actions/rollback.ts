import { OperatorError } from '#core/platform/errors.ts'
import { readLastActive, readWayBack } from '#core/db/activation-history.ts'
import type { WayBack } from '#core/db/activation-history.ts'
import { activeVersion, ask } from './activations.ts'
import type { ActivationAsked } from './activations.ts'
import { knowledgeBaseNamed, versionNamed } from './names.ts'
import type { Enqueue, Operator } from './operator.ts'

/** Where a rollback goes. */
export interface RollbackPlan {
  readonly version_id: string
  readonly knowledge_base_id: string
  readonly knowledge_base: string
  /** The version that is active now. */
  readonly replaces: string | null
  /** When the version was active last; null if it never was, which the check refuses. */
  readonly active_from: Date | null
  readonly active_until: Date | null
  /** Versions in between that were rejected since. */
  readonly passed_over: readonly string[]
}

export interface RollbackInput {
  readonly knowledgeBase: string
  /** The version to return to; the default is the next one on the way back that is not rejected. */
  readonly to?: string | undefined
}

/**
 * Requests the return to an earlier version. The worker refuses when another version became active meanwhile.
 * @param announce gets the plan before anything is written.
 */
export async function requestRollback(
  operator: Operator,
  input: RollbackInput,
  enqueue: Enqueue,
  announce: (plan: RollbackPlan) => void = () => undefined,
): Promise<ActivationAsked> {
  const plan = await planRollback(operator, input)
  announce(plan)
  const asked = {
    kind: 'rollback',
    versionId: plan.version_id,
    knowledgeBaseId: plan.knowledge_base_id,
    expectedVersionId: plan.replaces,
  } as const
  return ask(operator, asked, plan.knowledge_base, enqueue)
}

const NEVER_ACTIVE = { active_from: null, active_until: null }

async function planRollback(operator: Operator, input: RollbackInput): Promise<RollbackPlan> {
  const base = await knowledgeBaseNamed(operator.database, input.knowledgeBase)
  const way = await readWayBack(operator.database, base.id)
  const replaces = way.active?.version_id ?? (await activeVersion(operator, base.id))
  const common = { knowledge_base_id: base.id, knowledge_base: base.slug, replaces }
  if (input.to !== undefined && input.to !== way.target?.version_id) {
    const { id } = await versionNamed(operator.database, input.to)
    const { active_from, active_until } = (await readLastActive(operator.database, base.id, id)) ?? NEVER_ACTIVE
    return { ...common, version_id: id, active_from, active_until, passed_over: [] }
  }
  const { target } = way
  if (target === undefined) throw new OperatorError(nothingToReturnTo(base.slug, replaces, way))
  const { version_id, active_from, active_until } = target
  const passed_over = way.passedOver.map((step) => step.version_id)
  return { ...common, version_id, active_from, active_until, passed_over }
}

function nothingToReturnTo(slug: string, active: string | null, way: WayBack): string {
  const next = `choose a version from "operator versions history ${slug}" and name it with --to.`
  if (active !== null && way.active === undefined)
    return `The history of "${slug}" does not end with its active version: ${next}`
  const rejected = way.passedOver.length
  return rejected === 0
    ? `"${slug}" has no earlier version to return to: ${next}`
    : `"${slug}" has no earlier version to return to that is not rejected (${rejected} passed over): ${next}`
}

/** What a rollback does, in sentences. */
export function rollbackInWords(plan: RollbackPlan): string {
  const passed = plan.passed_over.map((id) => `Version ${id} is passed over, because it was rejected since.\n`).join('')
  const span =
    plan.active_from === null
      ? ''
      : `, active from ${plan.active_from.toISOString()} to ${plan.active_until?.toISOString() ?? 'now'}`
  return `${passed}"${plan.knowledge_base}" returns to version ${plan.version_id}${span}.`
}
