import { z } from 'zod'
import { DATABASE_BOUNDS } from './bounds.ts'
import { BUILD_STATES, type BuildFence } from './builds.ts'
import type { Queryable } from './pool.ts'
import { readRow, readRows } from './rows.ts'

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

/** Times are differences on the clock of Postgres, so the clock of a worker decides nothing. */
const LOCK_BUILD = `
select state, attempt, failed_runs, out_of_memory_runs, lost_runs,
  (extract(epoch from clock_timestamp() - updated_at) * 1000)::float8 as silent_ms,
  greatest(0, coalesce(extract(epoch from next_attempt_at - clock_timestamp()) * 1000, 0))::float8 as wait_ms
from builds where id = $1 for update`

/** @returns the build under its row lock, or undefined when it is unknown. */
export function lockBuild(client: Queryable, id: string): Promise<LockedBuild | undefined> {
  return readRow(client, lockedBuildSchema, LOCK_BUILD, [id])
}

/** The attempt number is the fence: every later write of this run must still hold it. */
const BEGIN_ATTEMPT = `
update builds set attempt = attempt + 1, state = 'running', next_attempt_at = null, updated_at = clock_timestamp()
where id = $1
returning attempt`

/** Begins a run of a build whose lock is held. */
export async function beginAttempt(client: Queryable, id: string): Promise<BuildFence> {
  const { rows } = await client.query(BEGIN_ATTEMPT, [id])
  return { buildId: id, attempt: z.tuple([z.object({ attempt: z.int() })]).parse(rows)[0].attempt }
}

const RECORD_HEARTBEAT = `
update builds set updated_at = clock_timestamp() where id = $1 and attempt = $2 and state = 'running'`

/** Tells that the run lives, also in a stage that reports no progress. */
export async function recordHeartbeat(database: Queryable, { buildId, attempt }: BuildFence): Promise<void> {
  await database.query(RECORD_HEARTBEAT, [buildId, attempt])
}

const RELEASE_RUN = `
update builds set state = 'queued', updated_at = clock_timestamp()
where id = $1 and attempt = $2 and state = 'running'`

/** Returns a build whose run was stopped with its worker to the queue. This is no failure. */
export async function releaseRun(database: Queryable, { buildId, attempt }: BuildFence): Promise<void> {
  await database.query(RELEASE_RUN, [buildId, attempt])
}

/** What follows a run that ended without a candidate. */
export type AfterRun = {
  readonly error: string
  readonly outOfMemory: boolean
  readonly lost: boolean
} & ({ readonly state: 'failed' } | { readonly state: 'retrying'; readonly waitMs: number })

const END_RUN = `
update builds set state = $3, error = $4, failed_runs = failed_runs + 1,
  out_of_memory_runs = out_of_memory_runs + $5::boolean::integer, lost_runs = lost_runs + $7::boolean::integer,
  next_attempt_at = clock_timestamp() + make_interval(secs => $6::float8 / 1000), updated_at = clock_timestamp()
where id = $1 and attempt = $2 and state = 'running'`

/** Ends a run of a build whose lock is held. */
export async function endRun(client: Queryable, { buildId, attempt }: BuildFence, after: AfterRun): Promise<void> {
  await client.query(END_RUN, [
    buildId,
    attempt,
    after.state,
    after.error.slice(0, DATABASE_BOUNDS.failureMessageCharactersMax),
    after.outOfMemory,
    after.state === 'retrying' ? after.waitMs : null,
    after.lost,
  ])
}

const LOST_RUNS = `
select id as "buildId", attempt from builds
where state = 'running' and updated_at < now() - make_interval(secs => $1 / 1000.0)
order by updated_at limit $2`

const fenceSchema = z.object({ buildId: z.uuid(), attempt: z.int() })

/** Runs without a heartbeat for so long. */
export function lostRuns(database: Queryable, silentMs: number, limit: number): Promise<readonly BuildFence[]> {
  return readRows(database, fenceSchema, LOST_RUNS, [silentMs, limit])
}
