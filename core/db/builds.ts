import { z } from 'zod'
import { BOUNDS } from '#core/platform/bounds.ts'
import type { Queryable } from './pool.ts'

export const BUILD_STATES = ['queued', 'running', 'succeeded', 'failed'] as const

const buildRowSchema = z.object({
  id: z.uuid(),
  knowledge_base_id: z.uuid(),
  /** Slug. */
  knowledge_base: z.string(),
  import_id: z.uuid(),
  parameters: z.unknown(),
  state: z.enum(BUILD_STATES),
  attempt: z.int(),
  stage: z.string().nullable(),
  done: z.number(),
  total: z.number(),
  error: z.string().nullable(),
})
export type BuildRow = z.infer<typeof buildRowSchema>

const INSERT_BUILD = 'insert into builds (id, knowledge_base_id, import_id, parameters) values ($1, $2, $3, $4)'

export interface NewBuild {
  readonly id: string
  readonly knowledgeBaseId: string
  readonly importId: string
  readonly parameters: unknown
}

export async function insertBuild(database: Queryable, build: NewBuild): Promise<void> {
  await database.query(INSERT_BUILD, [
    build.id,
    build.knowledgeBaseId,
    build.importId,
    JSON.stringify(build.parameters),
  ])
}

const READ_BUILD = `
select b.id, b.knowledge_base_id, k.slug as knowledge_base, b.import_id, b.parameters, b.state, b.attempt, b.stage,
  b.done::float8 as done,
  b.total::float8 as total, b.error
from builds b join knowledge_bases k on k.id = b.knowledge_base_id
where b.id = $1`

export async function readBuild(database: Queryable, id: string): Promise<BuildRow | undefined> {
  const { rows } = await database.query(READ_BUILD, [id])
  return rows[0] === undefined ? undefined : buildRowSchema.parse(rows[0])
}

/** Takes the build over. The attempt number is the fence: every later write of this run must still hold it. */
const BEGIN_ATTEMPT = `
update builds set attempt = attempt + 1, state = 'running', error = null, updated_at = now()
where id = $1 and state in ('queued', 'running')
returning attempt`

/** @returns the fence, or undefined when the build is finished or unknown. */
export async function beginAttempt(database: Queryable, id: string): Promise<number | undefined> {
  const { rows } = await database.query(BEGIN_ATTEMPT, [id])
  return rows[0] === undefined ? undefined : z.object({ attempt: z.int() }).parse(rows[0]).attempt
}

/** The build and the attempt that a run may write to. */
export interface BuildFence {
  readonly buildId: string
  readonly attempt: number
}

const RECORD_PROGRESS = `
update builds set stage = $3, done = $4, total = $5, updated_at = now()
where id = $1 and attempt = $2 and state = 'running'`

/** @returns false when another run has taken the build over: this one must stop. */
export async function recordProgress(
  database: Queryable,
  fence: BuildFence,
  stage: string,
  done: number,
  total: number,
): Promise<boolean> {
  const { rowCount } = await database.query(RECORD_PROGRESS, [fence.buildId, fence.attempt, stage, done, total])
  return rowCount === 1
}

const SUCCEED_BUILD = `
update builds set state = 'succeeded', stage = 'candidate', error = null, updated_at = now()
where id = $1 and attempt = $2 and state = 'running'`

/** Part of the final transaction. @returns false when another run has taken the build over. */
export async function succeedBuild(database: Queryable, fence: BuildFence): Promise<boolean> {
  const { rowCount } = await database.query(SUCCEED_BUILD, [fence.buildId, fence.attempt])
  return rowCount === 1
}

const NOTE_FAILED_RUN = `
update builds set error = $3, updated_at = now()
where id = $1 and attempt = $2 and state = 'running'`

/**
 * Records why a run failed that may be retried.
 * @returns false when another run has taken the build over.
 */
export async function noteFailedRun(database: Queryable, fence: BuildFence, error: string): Promise<boolean> {
  const { rowCount } = await database.query(NOTE_FAILED_RUN, [
    fence.buildId,
    fence.attempt,
    error.slice(0, BOUNDS.failureMessageCharactersMax),
  ])
  return rowCount === 1
}

const FAIL_BUILD = `
update builds set state = 'failed', error = $2, updated_at = now()
where id = $1 and state in ('queued', 'running') and ($3::integer is null or attempt = $3)`

/**
 * Ends a build permanently. A finished build stays as it is.
 * @param attempt of the run that failed; it ends nothing if another run has taken over. Undefined: no run holds the
 * build.
 */
export async function failBuild(database: Queryable, id: string, error: string, attempt?: number): Promise<boolean> {
  const { rowCount } = await database.query(FAIL_BUILD, [
    id,
    error.slice(0, BOUNDS.failureMessageCharactersMax),
    attempt ?? null,
  ])
  return rowCount === 1
}

/** Those of the given builds that ended some time ago. No run writes to their files any more. */
const ENDED_BUILDS = `
select id from builds
where id = any($1::uuid[]) and state in ('succeeded', 'failed')
  and updated_at < now() - make_interval(secs => $2 / 1000.0)`

export async function endedBuilds(
  database: Queryable,
  ids: readonly string[],
  sinceMs: number,
): Promise<readonly string[]> {
  const { rows } = await database.query(ENDED_BUILDS, [ids, sinceMs])
  return z
    .array(z.object({ id: z.uuid() }))
    .parse(rows)
    .map((row) => row.id)
}

/** The same without ids, newest first, for files whose names do not contain a build. */
const LATELY_ENDED_BUILDS = `
select id, state from builds
where state in ('succeeded', 'failed') and updated_at < now() - make_interval(secs => $1 / 1000.0)
order by updated_at desc
limit $2`

export async function latelyEndedBuilds(
  database: Queryable,
  sinceMs: number,
  limit: number,
): Promise<readonly { readonly id: string; readonly state: 'succeeded' | 'failed' }[]> {
  const { rows } = await database.query(LATELY_ENDED_BUILDS, [sinceMs, limit])
  return z.array(z.object({ id: z.uuid(), state: z.enum(['succeeded', 'failed']) })).parse(rows)
}

/** Oldest first; a lost queue is filled with them again. */
const UNFINISHED_BUILDS = "select id from builds where state in ('queued', 'running') order by created_at limit $1"

export async function unfinishedBuilds(database: Queryable, limit: number): Promise<readonly string[]> {
  const { rows } = await database.query(UNFINISHED_BUILDS, [limit])
  return z
    .array(z.object({ id: z.uuid() }))
    .parse(rows)
    .map((row) => row.id)
}

/** Builds whose projection a search node may have loaded recently for an evaluation. */
const RECENT_BUILDS =
  "select id from builds where state = 'running' or updated_at > now() - make_interval(secs => $1 / 1000.0)"

export async function recentBuilds(database: Queryable, withinMs: number): Promise<readonly string[]> {
  const { rows } = await database.query(RECENT_BUILDS, [withinMs])
  return z
    .array(z.object({ id: z.uuid() }))
    .parse(rows)
    .map((row) => row.id)
}
