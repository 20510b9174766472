import { beginAttempt, endRun, lockBuild, lostRuns } from '#core/db/build-runs.ts'
import type { AfterRun, LockedBuild } from '#core/db/build-runs.ts'
import type { BuildFence } from '#core/db/builds.ts'
import { inTransaction } from '#core/db/pool.ts'
import type { Database } from '#core/db/pool.ts'
import { JOB_BOUNDS } from '#jobs/platform/bounds.ts'
import { BUILD_BOUNDS } from './bounds.ts'

/** Why a run ended without a candidate. */
export interface Ending {
  /** A clause that follows "because". */
  readonly reason: string
  readonly kind: 'permanent' | 'out of memory' | 'lost' | 'transient'
}

export type Claim =
  | { readonly claim: 'begun'; readonly fence: BuildFence }
  | { readonly claim: 'not due'; readonly waitMs: number }
  /** The build succeeded, failed or is unknown. */
  | { readonly claim: 'ended' }

/**
 * Begins the next run of a build, unless a run is in progress or the wait after the last one is not over. The row
 * decides, so a job that comes twice, early or after a loss of Redis starts nothing twice.
 */
export async function claimRun(database: Database, buildId: string): Promise<Claim> {
  return await inTransaction(database, async (client): Promise<Claim> => {
    const build = await lockBuild(client, buildId)
    if (build === undefined) return { claim: 'ended' }
    switch (build.state) {
      case 'succeeded':
      case 'failed':
        return { claim: 'ended' }
      case 'running':
        // Once it is lost, `endLostRuns` ends it and says when the next run begins.
        return {
          claim: 'not due',
          waitMs: Math.max(BUILD_BOUNDS.buildLostAfterMs - build.silent_ms, JOB_BOUNDS.sweepEveryMs),
        }
      case 'retrying':
        if (build.wait_ms > 0) return { claim: 'not due', waitMs: build.wait_ms }
        return { claim: 'begun', fence: await beginAttempt(client, buildId) }
      case 'queued':
        return { claim: 'begun', fence: await beginAttempt(client, buildId) }
      default:
        return build.state satisfies never
    }
  })
}

/** @returns what follows, or undefined when another run has taken the build over. */
export async function settleRun(database: Database, fence: BuildFence, ending: Ending): Promise<AfterRun | undefined> {
  return await inTransaction(database, async (client) => {
    const build = await lockBuild(client, fence.buildId)
    if (build?.state !== 'running' || build.attempt !== fence.attempt) return undefined
    const after = afterRun(fence.buildId, build, ending)
    await endRun(client, fence, after)
    return after
  })
}

/** Ends runs whose worker is lost, and its process with it. @returns those that failed their build for good. */
export async function endLostRuns(database: Database): Promise<readonly BuildFence[]> {
  const failed: BuildFence[] = []
  for (const fence of await lostRuns(database, BUILD_BOUNDS.buildLostAfterMs, JOB_BOUNDS.requeueMax)) {
    const reason = `its job worker sent no heartbeat for ${BUILD_BOUNDS.buildLostAfterMs / 1_000} s`
    const after = await settleRun(database, fence, { kind: 'lost', reason })
    if (after?.state === 'failed') failed.push(fence)
  }
  return failed
}

/** Decides what follows a run from the runs before it and from how it ended. */
export function afterRun(
  buildId: string,
  { failed_runs, out_of_memory_runs, lost_runs }: Pick<LockedBuild, 'failed_runs' | 'out_of_memory_runs' | 'lost_runs'>,
  { kind, reason }: Ending,
): AfterRun {
  const counted = { outOfMemory: kind === 'out of memory', lost: kind === 'lost' }
  const again = `"operator build retry ${buildId}"`
  if (kind === 'permanent') return { state: 'failed', ...counted, error: reason }
  if (counted.outOfMemory && out_of_memory_runs + 1 >= BUILD_BOUNDS.buildOutOfMemoryRunsMax)
    return {
      state: 'failed',
      ...counted,
      error:
        `The build ended ${out_of_memory_runs + 1} times for lack of memory or by SIGKILL, the last time because ` +
        `${reason}. Give the job worker more memory and a larger BUILD_HEAP_MB, or split the corpus, then run ` +
        `${again}.`,
    }
  if (counted.lost && lost_runs + 1 >= BUILD_BOUNDS.buildLostRunsMax)
    return {
      state: 'failed',
      ...counted,
      error:
        `The build lost its job worker ${lost_runs + 1} times, the last time because ${reason}. The likely cause is ` +
        'lack of memory, for which the kernel may end the worker together with the build. Give the job worker more ' +
        `memory, lower BUILD_CONCURRENCY or BUILD_HEAP_MB, or split the corpus, then run ${again}.`,
    }
  if (failed_runs + 1 >= BUILD_BOUNDS.buildFailedRunsMax)
    return {
      state: 'failed',
      ...counted,
      error:
        `The build failed after ${failed_runs + 1} attempts, the last time because ${reason}. Read the log of the ` +
        `job worker, remove the cause, then run ${again}.`,
    }
  return { state: 'retrying', ...counted, error: reason, waitMs: retryWaitMs(failed_runs) }
}

/** The wait after so many earlier runs that failed: it doubles up to a bound. */
export function retryWaitMs(failedRuns: number): number {
  return Math.min(BUILD_BOUNDS.buildRetryFirstMs * 2 ** failedRuns, BUILD_BOUNDS.buildRetryMaxMs)
}
