import { z } from 'zod'
import { DATABASE_BOUNDS } from './bounds.ts'
import { BUILD_STATES, fenceSchema, type BuildFence } from './builds.ts'
import { execute, oneRowOf, rowOf, rowsOf } from './rows.ts'

/** The runs of a build. Each statement that ends a run holds its fence, so a run that was overtaken changes nothing. */

const lockedBuildSchema = z.object({
  state: z.enum(BUILD_STATES),
  attempt: z.int(),
  failed_runs: z.int(),
  out_of_memory_runs: z.int(),
  lost_runs: z.int(),
  /** Since the last heartbeat or progress of a run. */
  silent_ms: z.number(),
  /** Until the next attempt is due. */
  wait_ms: z.number(),
})
export type LockedBuild = z.infer<typeof lockedBuildSchema>

/**
 * Times are differences on the clock of Postgres, so the clock of a worker decides nothing.
 * @returns the build under its row lock, or undefined when it is unknown.
 */
export const lockBuild = rowOf(lockedBuildSchema)<[id: string]>`
  select state, attempt, failed_runs, out_of_memory_runs, lost_runs,
    (extract(epoch from clock_timestamp() - updated_at) * 1000)::float8 as silent_ms,
    greatest(0, coalesce(extract(epoch from next_attempt_at - clock_timestamp()) * 1000, 0))::float8 as wait_ms
  from builds where id = $1 for update`

/** Begins a run of a build whose lock is held. Every later write of this run must still hold the fence. */
export const beginAttempt = oneRowOf(fenceSchema)<[id: string]>`
  update builds set attempt = attempt + 1, state = 'running', next_attempt_at = null, updated_at = clock_timestamp()
  where id = $1
  returning id as "buildId", attempt`

/** The run that holds its fence. */
const RUN = "id = :buildId and attempt = :attempt and state = 'running'"

/** Tells that the run lives, also in a stage that reports no progress. */
export const recordHeartbeat = execute.named<BuildFence>`
  update builds set updated_at = clock_timestamp() where ${RUN}`

/** Returns a build whose run was stopped with its worker to the queue. This is no failure. */
export const releaseRun = execute.named<BuildFence>`
  update builds set state = 'queued', updated_at = clock_timestamp() where ${RUN}`

/** What follows a run that ended without a candidate. */
export type AfterRun = {
  readonly error: string
  readonly outOfMemory: boolean
  readonly lost: boolean
} & ({ readonly state: 'failed' } | { readonly state: 'retrying'; readonly waitMs: number })

export const endRun = execute.named<BuildFence & AfterRun & { readonly waitMs: number | null }>`
  update builds set state = :state, error = left(:error, ${String(DATABASE_BOUNDS.failureMessageCharactersMax)}),
    failed_runs = failed_runs + 1, out_of_memory_runs = out_of_memory_runs + :outOfMemory::boolean::integer,
    lost_runs = lost_runs + :lost::boolean::integer, updated_at = clock_timestamp(),
    next_attempt_at = clock_timestamp() + make_interval(secs => :waitMs::float8 / 1000)
  where ${RUN}`

/** Runs without a heartbeat for so long. */
export const lostRuns = rowsOf(fenceSchema)<[silentMs: number, limit: number]>`
  select id as "buildId", attempt from builds
  where state = 'running' and updated_at < now() - make_interval(secs => $1 / 1000.0)
  order by updated_at limit $2`
