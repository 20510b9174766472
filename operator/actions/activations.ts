import { randomUUID } from 'node:crypto'
import { readRollbackPath, readRollbackPathTo } from '#core/db/activation-history.ts'
import type { RollbackPath, RollbackStep } from '#core/db/activation-history.ts'
import { insertActivation } from '#core/db/activations.ts'
import { activePointer } from '#core/db/corpus-lists.ts'
import type { Queryable } from '#core/db/pool.ts'
import { readVersion } from '#core/db/versions.ts'
import { changesInWords } from '#core/domain/changes.ts'
import type { SignedStore } from '#core/index/format/store.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { checkActivatable } from '#jobs/activate/check.ts'
import { REVIEW_BOUNDS } from '#jobs/review/bounds.ts'
import { assertArtifactAsRecorded } from '#jobs/review/files.ts'
import { readRejections, rejectedStep } from '#jobs/review/rejections.ts'
import { OPERATOR_BOUNDS, enqueueCommitted, withAudit, type Enqueue, type Operator } from './operator.ts'
import { knowledgeBaseNamed, versionNamed, versionRowNamed } from './names.ts'

export type ActivationAsked = Awaited<ReturnType<typeof submit>>

/** The changes of an activation, and who approved them. */
export type ActivationPlan = Awaited<ReturnType<typeof planActivation>>

/**
 * Checks what the job worker checks, against the version that is active now.
 * @throws OperatorError when the version cannot become active.
 */
export async function planActivation(operator: Operator, versionId: string) {
  const { id, knowledge_base, knowledge_base_id, passages } = await versionNamed(operator.database, versionId)
  const { active_version_id: replaces, traced } = await knowledgeBaseNamed(operator.database, knowledge_base)
  const asked = { kind: 'activate', knowledge_base_id, expected_version_id: replaces } as const
  const found = await readVersion(operator.database, id)
  const { version, approved } = await checkActivatable(operator.database, asked, found)
  const changes = version.comparison?.changes ?? undefined
  return {
    version_id: id,
    knowledge_base,
    /** The version that is active now; null if none is. */
    replaces,
    traced,
    /** `169 → 10 passages, 159 removed, 3 changed`. */
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
  const { id, knowledge_base: slug, knowledge_base_id } = await versionNamed(operator.database, input.version)
  const replaces = input.replaces === undefined ? await activeVersion(operator, knowledge_base_id) : input.replaces
  return await submit(operator, 'activate', { id: knowledge_base_id, slug }, id, replaces, enqueue)
}

async function activeVersion(operator: Operator, knowledgeBaseId: string): Promise<string | null> {
  return (await activePointer(operator.database, knowledgeBaseId))?.version_id ?? null
}

interface Base {
  readonly id: string
  readonly slug: string
}

/**
 * Refuses early what the worker's check would refuse. The worker repeats the check under its locks.
 * @param replaces the version that is active at the time of the request.
 */
async function submit(
  operator: Operator,
  kind: 'activate' | 'rollback',
  { id: knowledgeBaseId, slug: knowledge_base }: Base,
  versionId: string,
  replaces: string | null,
  enqueue: Enqueue,
) {
  const id = randomUUID()
  const result = await withAudit(operator, `version.request-${kind}`, async (client) => {
    const step = { kind, knowledge_base_id: knowledgeBaseId, expected_version_id: replaces }
    await checkActivatable(client, step, await readVersion(client, versionId))
    const row = { id, kind, versionId, knowledgeBaseId, expectedVersionId: replaces, actor: operator.actor }
    await insertActivation(client, row)
    const detail = { knowledge_base, activation_id: id, replaces }
    return [{ id, kind, version_id: versionId, knowledge_base, replaces }, `version:${versionId}`, detail]
  })
  await enqueueCommitted(enqueue, id, 'versions list')
  return result
}

export type RollbackPlan = Awaited<ReturnType<typeof planRollback>>

/**
 * Finds the version that a rollback returns to, and what it takes back.
 * @param to a version on the rollback path; the default is the next one that is not rejected.
 */
export async function planRollback({ database }: Operator, knowledgeBase: string, to?: string) {
  const base = await knowledgeBaseNamed(database, knowledgeBase)
  const { steps, passedOver } = to === undefined ? await stepsBack(database, base) : await stepsTo(database, base, to)
  const [active, target] = [steps[0], steps.at(-1)]
  if (active === undefined || target === undefined) throw new OperatorError(`"${base.slug}" has no active version.`)
  return {
    base,
    replaces: active.version_id,
    /** With the time at which it was last active. */
    target,
    /** Versions in between that were rejected since. */
    passed_over: passedOver.map((step) => step.version_id),
    /** The first steps that are taken back, from the active version on, with what each changed; null: not on record. */
    undoes: await undoneSteps(database, steps.slice(0, -1)),
    /** The first reviews that claim to reject a version on the path and whose signature does not hold. */
    ignored: await forgedRejections(database, steps.slice(1)),
  }
}

/** Requests the return to an earlier version. The worker refuses when another version became active meanwhile. */
export async function requestRollback(
  operator: Operator,
  { base, target, replaces }: RollbackPlan,
  enqueue: Enqueue,
): Promise<ActivationAsked> {
  return await submit(operator, 'rollback', base, target.version_id, replaces, enqueue)
}

interface Steps {
  /** From the active version to the target, both included. */
  readonly steps: readonly RollbackStep[]
  readonly passedOver: readonly RollbackStep[]
}

async function stepsBack(database: Queryable, { id, slug }: Base): Promise<Steps> {
  const path = await readRollbackPath(database, id, rejectedStep(database))
  const { active, passedOver, target } = path
  if (active === undefined || target === undefined)
    throw new OperatorError(nothingToReturnTo(slug, (await activePointer(database, id)) !== undefined, path))
  return { steps: [active, ...passedOver, target], passedOver }
}

/** What was never active, or was rejected, is refused by the check of every activation. */
async function stepsTo(database: Queryable, base: Base, to: string): Promise<Steps> {
  const { id } = await versionNamed(database, to)
  const path = await readRollbackPathTo(database, base.id, id)
  if (path === undefined || path.length < 2) {
    const asked = { kind: 'rollback', knowledge_base_id: base.id, expected_version_id: null } as const
    await checkActivatable(database, asked, await readVersion(database, id))
    throw new OperatorError(`Version ${id} is not on the way back of "${base.slug}".`)
  }
  return { steps: path, passedOver: [] }
}

async function undoneSteps(database: Queryable, steps: readonly RollbackStep[]) {
  const undone = []
  for (const { version_id } of steps.slice(0, OPERATOR_BOUNDS.undoneStepsNamedMax)) {
    const changes = (await readVersion(database, version_id))?.comparison?.changes ?? undefined
    undone.push({ version_id, changes: changes === undefined ? null : changesInWords(changes) })
  }
  return undone
}

async function forgedRejections(database: Queryable, steps: readonly RollbackStep[]): Promise<readonly string[]> {
  const forged: string[] = []
  for (const { version_id } of steps.filter(({ claimed }) => claimed).slice(0, OPERATOR_BOUNDS.undoneStepsNamedMax))
    forged.push(...(await readRejections(database, version_id)).forged)
  return forged.slice(0, REVIEW_BOUNDS.forgedReviewsNamedMax)
}

function nothingToReturnTo(slug: string, isActive: boolean, path: RollbackPath): string {
  const next = 'build the sources of the version that you want again, and have the candidate reviewed.'
  if (isActive && path.active === undefined)
    return `The history of "${slug}" does not end with its active version: ${next}`
  const rejected = path.passedOver.length
  return rejected === 0
    ? `"${slug}" has no earlier version to return to: ${next}`
    : `"${slug}" has no earlier version to return to that is not rejected (${rejected} passed over): ${next}`
}

export function rollbackInWords(plan: RollbackPlan): string {
  const ignored = plan.ignored.map((id) => `Review ${id} is ignored, because its signature does not hold.\n`).join('')
  const passed = plan.passed_over.map((id) => `Version ${id} is passed over, because it was rejected since.\n`).join('')
  const undone = plan.undoes
    .map(({ version_id, changes }) => `\nUndoes version ${version_id}: ${changes ?? 'its changes are not on record'}.`)
    .join('')
  return (
    `${ignored}${passed}"${plan.base.slug}" returns to version ${plan.target.version_id}, active from ` +
    `${plan.target.active_from.toISOString()} to ${plan.target.active_until?.toISOString() ?? 'now'}.${undone}`
  )
}
