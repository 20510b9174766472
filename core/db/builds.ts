import { z } from 'zod'
import type { EmbeddingCounts } from '#core/domain/embedding-counts.ts'
import type { Queryable } from './pool.ts'
import { affectsRow, readIds, readRow, readRows } from './rows.ts'

/** `retrying`: a run ended without a candidate, and another one begins at `next_attempt_at`. */
export const BUILD_STATES = ['queued', 'running', 'retrying', 'succeeded', 'failed'] as const

const buildRowSchema = z.object({
  id: z.uuid(),
  knowledge_base_id: z.uuid(),
  /** Slug. */
  knowledge_base: z.string(),
  /** The day of the knowledge base; null: the day of each request. */
  as_of: z.iso.date().nullable(),
  import_id: z.uuid(),
  parameters: z.unknown(),
  state: z.enum(BUILD_STATES),
  attempt: z.int(),
  stage: z.string().nullable(),
  done: z.number(),
  total: z.number(),
  /** Why the last run ended without a candidate. */
  error: z.string().nullable(),
})
export type BuildRow = z.infer<typeof buildRowSchema>

const INSERT_BUILD =
  'insert into builds (id, knowledge_base_id, import_id, parameters, started_by) values ($1, $2, $3, $4, $5)'

export interface NewBuild {
  readonly id: string
  readonly knowledgeBaseId: string
  readonly importId: string
  readonly parameters: unknown
  /** The actor. Postgres adds the login. */
  readonly startedBy: string
}

export async function insertBuild(database: Queryable, build: NewBuild): Promise<void> {
  const { id, knowledgeBaseId, importId, parameters, startedBy } = build
  await database.query(INSERT_BUILD, [id, knowledgeBaseId, importId, JSON.stringify(parameters), startedBy])
}

const READ_BUILD = `
select b.id, b.knowledge_base_id, k.slug as knowledge_base, k.as_of::text, b.import_id, b.parameters, b.state, b.attempt, b.stage,
  b.done::float8 as done,
  b.total::float8 as total, b.error
from builds b join knowledge_bases k on k.id = b.knowledge_base_id
where b.id = $1`

export function readBuild(database: Queryable, id: string): Promise<BuildRow | undefined> {
  return readRow(database, buildRowSchema, READ_BUILD, [id])
}

const READ_STARTER = `
select b.started_by, k.slug as knowledge_base, b.state, b.error from builds b join knowledge_bases k on k.id = b.knowledge_base_id
where b.id = $1`
const starterSchema = buildRowSchema.pick({ knowledge_base: true, state: true, error: true }).extend({
  started_by: z.string(),
})

/** Returns who asked for a build, by the name that was stated, and what became of it. */
export function readBuildStarter(database: Queryable, id: string) {
  return readRow(database, starterSchema, READ_STARTER, [id])
}

/** The build and the attempt that a run may write to. */
export interface BuildFence {
  readonly buildId: string
  readonly attempt: number
}

const RECORD_PROGRESS = `
update builds set stage = $3, done = $4, total = $5, embedding = coalesce($6, embedding), updated_at = now()
where id = $1 and attempt = $2 and state = 'running'`

export interface BuildProgress {
  readonly stage: string
  readonly done: number
  readonly total: number
  /** Undefined: as it was. */
  readonly embedding: EmbeddingCounts | undefined
}

/** @returns false when another run has taken the build over: this one must stop. */
export function recordProgress(
  database: Queryable,
  fence: BuildFence,
  { stage, done, total, embedding }: BuildProgress,
): Promise<boolean> {
  const counts = embedding === undefined ? null : JSON.stringify(embedding)
  return affectsRow(database, RECORD_PROGRESS, [fence.buildId, fence.attempt, stage, done, total, counts])
}

const SUCCEED_BUILD = `
update builds set state = 'succeeded', stage = 'candidate', error = null, updated_at = now()
where id = $1 and attempt = $2 and state = 'running'`

/** Part of the final transaction. @returns false when another run has taken the build over. */
export function succeedBuild(database: Queryable, fence: BuildFence): Promise<boolean> {
  return affectsRow(database, SUCCEED_BUILD, [fence.buildId, fence.attempt])
}

/**
 * A build that ended so long ago that no run writes to its files any more. A failed build may be asked for again, so
 * its files are kept for longer.
 */
const ENDED = (succeededMs: string, failedMs: string): string => `
  ((state = 'succeeded' and updated_at < now() - make_interval(secs => ${succeededMs} / 1000.0))
  or (state = 'failed' and updated_at < now() - make_interval(secs => ${failedMs} / 1000.0)))`

export interface EndedSince {
  readonly succeededMs: number
  readonly failedMs: number
}

const ENDED_BUILDS = `select id from builds where id = any($1::uuid[]) and ${ENDED('$2', '$3')}`

/** @returns those of the given builds that ended. */
export function endedBuilds(database: Queryable, ids: readonly string[], since: EndedSince) {
  return readIds(database, ENDED_BUILDS, [ids, since.succeededMs, since.failedMs])
}

/** Ended builds of any id, newest first, for files whose names do not contain a build. */
const LATELY_ENDED_BUILDS = `select id, state from builds where ${ENDED('$1', '$2')} order by updated_at desc limit $3`

const endedSchema = z.object({ id: z.uuid(), state: z.enum(['succeeded', 'failed']) })

export function recentlyEndedBuilds(database: Queryable, since: EndedSince, limit: number) {
  return readRows(database, endedSchema, LATELY_ENDED_BUILDS, [since.succeededMs, since.failedMs, limit])
}

/** Oldest first; a lost queue is filled with them again. */
const UNFINISHED_BUILDS = `
select id from builds where state in ('queued', 'running', 'retrying') order by created_at limit $1`

export function unfinishedBuilds(database: Queryable, limit: number): Promise<readonly string[]> {
  return readIds(database, UNFINISHED_BUILDS, [limit])
}

/** Builds whose version a search node may have loaded recently for an evaluation. */
const RECENT_BUILDS =
  "select id from builds where state = 'running' or updated_at > now() - make_interval(secs => $1 / 1000.0)"

export function recentBuilds(database: Queryable, withinMs: number): Promise<readonly string[]> {
  return readIds(database, RECENT_BUILDS, [withinMs])
}

/** The functions of the schema are the only ways in which the operator changes a build. */
const CANCEL_BUILD = 'select cancel_build($1, $2) as cancelled'

/** Ends a build that has not ended; its run learns of it at its next write. @returns false if it had ended. */
export async function cancelBuild(database: Queryable, id: string, reason: string): Promise<boolean> {
  const { rows } = await database.query(CANCEL_BUILD, [id, reason])
  return z.tuple([z.object({ cancelled: z.boolean() })]).parse(rows)[0].cancelled
}

const RETRY_BUILD = 'select retry_build($1, $2) as queued'

/** Queues a failed build again, with all its attempts. @returns false unless it failed within the time. */
export async function retryBuild(database: Queryable, id: string, failedWithinMs: number): Promise<boolean> {
  const { rows } = await database.query(RETRY_BUILD, [id, failedWithinMs])
  return z.tuple([z.object({ queued: z.boolean() })]).parse(rows)[0].queued
}
