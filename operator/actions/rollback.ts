import { readWayBack, readWayTo } from '#core/db/activation-history.ts'
import type { WayBack, WayBackStep } from '#core/db/activation-history.ts'
import { activePointer } from '#core/db/corpus-lists.ts'
import { readVersion } from '#core/db/versions.ts'
import { changesInWords } from '#core/domain/changes.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { REVIEW_BOUNDS } from '#jobs/review/bounds.ts'
import { OPERATOR_BOUNDS } from '#operator/actions/bounds.ts'
import { checkActivatable } from '#jobs/activate/check.ts'
import { readRejections, rejectedStep } from '#jobs/review/rejections.ts'
import { submitActivation } from './activations.ts'
import type { ActivationAsked } from './activations.ts'
import { knowledgeBaseNamed, versionNamed } from './names.ts'
import type { Enqueue, Operator } from './operator.ts'

/** Target of a rollback. */
export interface RollbackPlan {
  readonly version_id: string
  readonly knowledge_base_id: string
  readonly knowledge_base: string
  /** The version that is active now. */
  readonly replaces: string
  /** Time at which the version was last active. */
  readonly active_from: Date
  readonly active_until: Date | null
  /** Versions in between that were rejected since. */
  readonly passed_over: readonly string[]
  /** The first steps that are taken back, from the active version on. */
  readonly undoes: readonly UndoneStep[]
  /** The first reviews that claim to reject a version on the way and whose signature does not hold. */
  readonly ignored: readonly string[]
}

export interface UndoneStep {
  readonly version_id: string
  /** What the version changed against the one before it; null: not on record. */
  readonly changes: string | null
}

export interface RollbackInput {
  readonly knowledgeBase: string
  /** A version on the way back; the default is the next one that is not rejected. */
  readonly to?: string | undefined
}

/**
 * Requests the return to an earlier version. The worker refuses when another version became active meanwhile.
 * @param announce gets the plan before anything is written; it may refuse.
 */
export async function requestRollback(
  operator: Operator,
  input: RollbackInput,
  enqueue: Enqueue,
  announce: (plan: RollbackPlan) => Promise<void> | void = () => undefined,
): Promise<ActivationAsked> {
  const plan = await planRollback(operator, input)
  await announce(plan)
  const asked = {
    kind: 'rollback',
    versionId: plan.version_id,
    knowledgeBaseId: plan.knowledge_base_id,
    expectedVersionId: plan.replaces,
  } as const
  return submitActivation(operator, asked, plan.knowledge_base, enqueue)
}

async function planRollback(operator: Operator, input: RollbackInput): Promise<RollbackPlan> {
  const base = await knowledgeBaseNamed(operator.database, input.knowledgeBase)
  const { steps, passedOver } =
    input.to === undefined ? await stepsBack(operator, base) : await stepsTo(operator, base, input.to)
  const [active, target] = [steps[0], steps.at(-1)]
  if (active === undefined || target === undefined) throw new OperatorError(`"${base.slug}" has no active version.`)
  const { version_id, active_from, active_until } = target
  return {
    version_id,
    knowledge_base_id: base.id,
    knowledge_base: base.slug,
    replaces: active.version_id,
    active_from,
    active_until,
    passed_over: passedOver.map((step) => step.version_id),
    undoes: await undoneSteps(operator, steps.slice(0, -1)),
    ignored: await forgedRejections(operator, steps.slice(1)),
  }
}

interface Steps {
  /** From the active version to the target, both included. */
  readonly steps: readonly WayBackStep[]
  readonly passedOver: readonly WayBackStep[]
}

async function stepsBack({ database }: Operator, base: { readonly id: string; readonly slug: string }): Promise<Steps> {
  const way = await readWayBack(database, base.id, rejectedStep(database))
  const { active, passedOver, target } = way
  if (active === undefined || target === undefined) {
    const pointer = await activePointer(database, base.id)
    throw new OperatorError(nothingToReturnTo(base.slug, pointer !== undefined, way))
  }
  return { steps: [active, ...passedOver, target], passedOver }
}

/** What was never active, or was rejected, is refused by the check of every activation. */
async function stepsTo(
  { database }: Operator,
  base: { readonly id: string; readonly slug: string },
  to: string,
): Promise<Steps> {
  const { id } = await versionNamed(database, to)
  const way = await readWayTo(database, base.id, id)
  if (way === undefined || way.length < 2) {
    const asked = { kind: 'rollback', knowledge_base_id: base.id, expected_version_id: null } as const
    await checkActivatable(database, asked, await readVersion(database, id))
    throw new OperatorError(`Version ${id} is not on the way back of "${base.slug}".`)
  }
  return { steps: way, passedOver: [] }
}

async function undoneSteps({ database }: Operator, steps: readonly WayBackStep[]): Promise<readonly UndoneStep[]> {
  const undone: UndoneStep[] = []
  for (const { version_id } of steps.slice(0, OPERATOR_BOUNDS.undoneStepsNamedMax)) {
    const changes = (await readVersion(database, version_id))?.comparison?.changes ?? undefined
    undone.push({ version_id, changes: changes === undefined ? null : changesInWords(changes) })
  }
  return undone
}

async function forgedRejections({ database }: Operator, steps: readonly WayBackStep[]): Promise<readonly string[]> {
  const forged: string[] = []
  for (const { version_id } of steps.filter(({ claimed }) => claimed).slice(0, OPERATOR_BOUNDS.undoneStepsNamedMax))
    forged.push(...(await readRejections(database, version_id)).forged)
  return forged.slice(0, REVIEW_BOUNDS.forgedReviewsNamedMax)
}

function nothingToReturnTo(slug: string, isActive: boolean, way: WayBack): string {
  const next = 'build the sources of the version that you want again, and have the candidate reviewed.'
  if (isActive && way.active === undefined)
    return `The history of "${slug}" does not end with its active version: ${next}`
  const rejected = way.passedOver.length
  return rejected === 0
    ? `"${slug}" has no earlier version to return to: ${next}`
    : `"${slug}" has no earlier version to return to that is not rejected (${rejected} passed over): ${next}`
}

/** Describes a rollback in sentences. */
export function rollbackInWords(plan: RollbackPlan): string {
  const ignored = plan.ignored.map((id) => `Review ${id} is ignored, because its signature does not hold.\n`).join('')
  const passed = plan.passed_over.map((id) => `Version ${id} is passed over, because it was rejected since.\n`).join('')
  const undone = plan.undoes
    .map(({ version_id, changes }) => `\nUndoes version ${version_id}: ${changes ?? 'its changes are not on record'}.`)
    .join('')
  return (
    `${ignored}${passed}"${plan.knowledge_base}" returns to version ${plan.version_id}, active from ` +
    `${plan.active_from.toISOString()} to ${plan.active_until?.toISOString() ?? 'now'}.${undone}`
  )
}
