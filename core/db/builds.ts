import { z } from 'zod'
import type { EmbeddingCounts } from '#core/domain/embedding-counts.ts'
import { changesOne, execute, ids, rowOf, rowsOf, valueOf } from './rows.ts'

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

export interface NewBuild {
  readonly id: string
  readonly knowledgeBaseId: string
  readonly importId: string
  readonly parameters: unknown
  /** The actor. Postgres adds the login. */
  readonly startedBy: string
}

export const insertBuild = execute.named<NewBuild>`
  insert into builds (id, knowledge_base_id, import_id, parameters, started_by)
  values (:id, :knowledgeBaseId, :importId, :parameters::jsonb, :startedBy)`

export const readBuild = rowOf(buildRowSchema)<[id: string]>`
  select b.id, b.knowledge_base_id, k.slug as knowledge_base, k.as_of::text, b.import_id, b.parameters, b.state, b.attempt, b.stage,
    b.done::float8 as done,
    b.total::float8 as total, b.error
  from builds b join knowledge_bases k on k.id = b.knowledge_base_id
  where b.id = $1`

const starterSchema = buildRowSchema
  .pick({ knowledge_base: true, state: true, error: true })
  .extend({ started_by: z.string() })

/** Returns who asked for a build, by the name that was stated, and what became of it. */
export const readBuildStarter = rowOf(starterSchema)<[id: string]>`
  select b.started_by, k.slug as knowledge_base, b.state, b.error from builds b join knowledge_bases k on k.id = b.knowledge_base_id
  where b.id = $1`

/** The build and the attempt that a run may write to. */
export const fenceSchema = z.object({ buildId: z.uuid(), attempt: z.int() }).readonly()
export type BuildFence = z.infer<typeof fenceSchema>

export interface BuildProgress {
  readonly stage: string
  readonly done: number
  readonly total: number
  /** Undefined: as it was. */
  readonly embedding: EmbeddingCounts | undefined
}

/** @returns false when another run has taken the build over: this one must stop. */
export const recordProgress = changesOne.named<BuildFence & BuildProgress>`
  update builds set stage = :stage, done = :done, total = :total, embedding = coalesce(:embedding, embedding),
    updated_at = now()
  where id = :buildId and attempt = :attempt and state = 'running'`

/** Part of the final transaction. @returns false when another run has taken the build over. */
export const succeedBuild = changesOne.named<BuildFence>`
  update builds set state = 'succeeded', stage = 'candidate', error = null, updated_at = now()
  where id = :buildId and attempt = :attempt and state = 'running'`

/**
 * A build that ended so long ago that no run writes to its files any more. A failed build may be asked for again, so
 * its files are kept for longer.
 */
const ENDED = `
  ((state = 'succeeded' and updated_at < now() - make_interval(secs => :succeededMs / 1000.0))
  or (state = 'failed' and updated_at < now() - make_interval(secs => :failedMs / 1000.0)))`

export interface EndedSince {
  readonly succeededMs: number
  readonly failedMs: number
}

/** @returns those of the given builds that ended. */
export const endedBuilds = ids.named<EndedSince & { readonly builds: readonly string[] }>`
  select id from builds where id = any(:builds::uuid[]) and ${ENDED}`

const endedSchema = z.object({ id: z.uuid(), state: z.enum(['succeeded', 'failed']) })

/** Ended builds of any id, newest first, for files whose names do not contain a build. */
export const recentlyEndedBuilds = rowsOf(endedSchema).named<EndedSince & { readonly limit: number }>`
  select id, state from builds where ${ENDED} order by updated_at desc limit :limit`

/** Oldest first; a lost queue is filled with them again. */
export const unfinishedBuilds = ids<[limit: number]>`
  select id from builds where state in ('queued', 'running', 'retrying') order by created_at limit $1`

/** Builds whose version a search node may have loaded recently for an evaluation. */
export const recentBuilds = ids<[withinMs: number]>`
  select id from builds where state = 'running' or updated_at > now() - make_interval(secs => $1 / 1000.0)`

/**
 * Ends a build that has not ended; its run learns of it at its next write. The functions of the schema are the only ways
 * in which the operator changes a build. @returns false if it had ended.
 */
export const cancelBuild = valueOf(z.boolean())<[id: string, reason: string]>`select cancel_build($1, $2)`

/** Queues a failed build again, with all its attempts. @returns false unless it failed within the time. */
export const retryBuild = valueOf(z.boolean())<[id: string, failedWithinMs: number]>`select retry_build($1, $2)`
