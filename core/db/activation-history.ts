import { z } from 'zod'
import { DATABASE_BOUNDS } from './bounds.ts'
import { ACTIVATION_KINDS } from './activations.ts'
import type { Queryable } from './pool.ts'
import { rowsOf } from './rows.ts'

/**
 * A rollback walks the history of activations back. Postgres keeps it as links: `activations.returns_to` names the
 * activation that lies below on the rollback path. An activation of a version on that path shortens it, and any
 * other version goes on top. So rollbacks never go forth and back between two versions.
 */

/**
 * A version that some review claims to reject. Postgres cannot verify the signature, so nothing follows from the claim
 * but that the rollback path is read on.
 */
const CLAIMED = `exists (select from reviews r
  where r.version_id = a.version_id and r.verdict = 'rejected')`

/**
 * The rollback path of every knowledge base, from its active version (step 0) to the next one that no review claims to
 * reject. Empty where the history does not end with the active version.
 */
export const ROLLBACK_PATH = pathWhile('w.step = 0 or w.claimed')

/** @param goesOn says of a step `w` whether the one below it belongs to the path. */
function pathWhile(goesOn: string): string {
  return `
rollback_path as (
  select p.knowledge_base_id, a.sequence, a.version_id, a.returns_to, false as claimed, 0 as step
  from active_versions p
  cross join lateral (select n.* from activations n
    where n.knowledge_base_id = p.knowledge_base_id and n.sequence is not null order by n.sequence desc limit 1) a
  where a.version_id = p.version_id
  union all
  select a.knowledge_base_id, a.sequence, a.version_id, a.returns_to, ${CLAIMED}, w.step + 1
  from rollback_path w
  join activations a on a.knowledge_base_id = w.knowledge_base_id and a.sequence = w.returns_to
  where (${goesOn}) and w.step < ${DATABASE_BOUNDS.rollbackStepsMax}
)`
}

const stepSchema = z.object({
  sequence: z.int(),
  version_id: z.uuid(),
  /** Some review claims to reject it, and its signature is to be verified. */
  claimed: z.boolean(),
  /** Since when, and until when, the version was active. */
  active_from: z.date(),
  active_until: z.date().nullable(),
})
export type RollbackStep = z.infer<typeof stepSchema>

export type RollbackPath = Awaited<ReturnType<typeof readRollbackPath>>

const STEPS = `
select w.sequence::float8 as sequence, w.version_id, w.claimed, a.finished_at as active_from,
  (select n.finished_at from activations n where n.knowledge_base_id = w.knowledge_base_id
    and n.sequence = w.sequence + 1) as active_until
from rollback_path w join activations a using (knowledge_base_id, sequence)
where w.knowledge_base_id = $1
order by w.step`

const readSteps = rowsOf(stepSchema)<[knowledgeBaseId: string]>`with recursive ${ROLLBACK_PATH} ${STEPS}`

/**
 * @param isRejected verifies what reviews claim; without it no claim counts.
 * @returns `active`: undefined where nothing is active, or the history does not end with it. `passedOver`: rejected since,
 * so a rollback does not return to them. `target`: the version that it returns to.
 */
export async function readRollbackPath(
  database: Queryable,
  knowledgeBaseId: string,
  isRejected: (step: RollbackStep) => Promise<boolean> = () => Promise.resolve(false),
) {
  const [active, ...earlier] = await readSteps(database, knowledgeBaseId)
  const passedOver: RollbackStep[] = []
  for (const step of earlier) {
    if (!(await isRejected(step))) return { active, passedOver, target: step }
    passedOver.push(step)
  }
  return { active, passedOver, target: undefined }
}

/** Reads the steps back to a given version, also those that `ROLLBACK_PATH` leaves out. */
const readStepsTo = rowsOf(stepSchema)<[knowledgeBaseId: string, versionId: string]>`
with recursive ${pathWhile('w.knowledge_base_id = $1 and w.version_id <> $2')} ${STEPS}`

/**
 * @returns the steps from the active version to that version, both included; undefined where it is not on the rollback
 * path.
 */
export async function readRollbackPathTo(database: Queryable, knowledgeBaseId: string, versionId: string) {
  const steps = await readStepsTo(database, knowledgeBaseId, versionId)
  return steps.at(-1)?.version_id === versionId ? steps : undefined
}

const HISTORY_STATES = ['active', 'on the way back', 'left'] as const

const pastSchema = z.object({
  sequence: z.int(),
  at: z.date(),
  kind: z.enum(ACTIVATION_KINDS),
  version_id: z.uuid(),
  /** The version that it replaced; null for the first. */
  replaced_version_id: z.uuid().nullable(),
  actor: z.string(),
  /** State of the version. Repeated rollbacks reach a version on the rollback path, and never one that was left. */
  state: z.enum(HISTORY_STATES),
  /** Some review claims to reject it. */
  claimed: z.boolean(),
})

/**
 * Newest first. The link of a version on the rollback path is its newest activation, so links older than the rows shown
 * concern none of them.
 */
export const listHistory = rowsOf(pastSchema)<[knowledgeBaseId: string, limit: number]>`
  with recursive shown as (
    select a.* from activations a where a.knowledge_base_id = $1 and a.sequence is not null
    order by a.sequence desc limit $2
  ), shown_path as (
    select s.sequence, s.version_id, s.returns_to from shown s where s.sequence = (select max(sequence) from shown)
    union all
    select s.sequence, s.version_id, s.returns_to from shown_path w join shown s on s.sequence = w.returns_to
  )
  select a.sequence::float8 as sequence, a.finished_at as at, a.kind, a.version_id,
    a.expected_version_id as replaced_version_id, a.actor, ${CLAIMED} as claimed, case when a.version_id = p.version_id then 'active'
      when a.version_id in (select version_id from shown_path) then 'on the way back' else 'left' end as state
  from shown a join active_versions p using (knowledge_base_id)
  order by a.sequence desc`
