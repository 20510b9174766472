import { DelayedError, UnrecoverableError, WaitingError, type Job } from 'bullmq'
import type { ArtifactStore } from '#core/index/format/store.ts'
import { recordHeartbeat, releaseRun, beginAttempt, endRun, lockBuild, lostRuns } from '#core/db/build-runs.ts'
import type { BuildFence } from '#core/db/builds.ts'
import type { EngineSettings } from '#core/engine/settings.ts'
import type { JobPayload } from '#core/queues/ledger-queue.ts'
import type { Log } from '#core/platform/log.ts'
import { BUILD_BOUNDS } from './bounds.ts'
import { removeIndexesOf } from './engine.ts'
import { versionIdOf } from './ids.ts'
import { removeArtifact } from './row-files.ts'
import { runBuildChild, type BuildOutcome } from './run-child.ts'
import type { AfterRun, LockedBuild } from '#core/db/build-runs.ts'
import { inTransaction, type Database } from '#core/db/pool.ts'
import { JOB_BOUNDS } from '#jobs/platform/bounds.ts'

interface BuildJobDeps {
  readonly database: Database
  readonly store: ArtifactStore
  readonly log: Log
  /** Aborted when the worker stops. A running build is then killed and its job returns to the queue. */
  readonly stopping: AbortSignal
  readonly buildHeapMb: number
  readonly environment?: NodeJS.ProcessEnv
  /** The cluster of builds for the engine `opensearch`. */
  readonly engine: EngineSettings
}

type BuildJob = Pick<Job<JobPayload>, 'data' | 'updateProgress' | 'moveToWait' | 'moveToDelayed'>

/**
 * Processes one job of the build queue. The build's row decides whether a run begins, and what follows its end; the job
 * only says when to look.
 */
export async function processBuild(deps: BuildJobDeps, job: BuildJob, token: string | undefined): Promise<string> {
  const claimed = await claimRun(deps.database, job.data.id)
  switch (claimed.claim) {
    case 'ended':
      return 'ended before'
    case 'not due':
      return await lookAgainIn(claimed.waitMs, job, token)
    case 'begun':
      return await settle(deps, job, token, claimed.fence, await supervise(deps, job, claimed.fence))
    default:
      return claimed satisfies never
  }
}

/** Runs the build's process. The row gets a heartbeat as long as both worker and process run. */
async function supervise(deps: BuildJobDeps, job: BuildJob, fence: BuildFence): Promise<BuildOutcome> {
  const beat = (): void =>
    void recordHeartbeat(deps.database, fence).catch((error: unknown) => deps.log.warn('build heartbeat', {}, error))
  using heartbeat = new DisposableStack()
  heartbeat.use(setInterval(beat, BUILD_BOUNDS.buildHeartbeatEveryMs))
  return await runBuildChild(fence, {
    signal: deps.stopping,
    heapMb: deps.buildHeapMb,
    onProgress: (mark) => void job.updateProgress(mark).catch(() => undefined),
    ...(deps.environment === undefined ? {} : { environment: deps.environment }),
  })
}

async function settle(
  deps: BuildJobDeps,
  job: BuildJob,
  token: string | undefined,
  fence: BuildFence,
  outcome: BuildOutcome,
): Promise<string> {
  const run = { build_id: fence.buildId, attempt: fence.attempt }
  const ended = async (ending: Ending): Promise<string> => {
    const after = await settleRun(deps.database, fence, ending)
    if (after === undefined) return 'overtaken'
    deps.log.warn('build run ended without a candidate', { ...run, reason: ending.reason, state: after.state })
    if (after.state === 'retrying') return await lookAgainIn(after.waitMs, job, token)
    await removeFailed(deps, fence.buildId)
    throw new UnrecoverableError(after.error)
  }
  deps.log.info('build run ended', { ...run, outcome: outcome.outcome })
  switch (outcome.outcome) {
    case 'succeeded':
    case 'overtaken':
      return outcome.outcome
    case 'stopped':
      await releaseRun(deps.database, fence)
      await job.moveToWait(token)
      throw new WaitingError()
    case 'failed':
      return await ended({ kind: outcome.kind, reason: outcome.message })
    case 'died':
      return await ended({ kind: outcome.outOfMemory ? 'out of memory' : 'transient', reason: outcome.reason })
    default:
      return outcome satisfies never
  }
}

async function lookAgainIn(waitMs: number, job: BuildJob, token: string | undefined): Promise<never> {
  await job.moveToDelayed(Date.now() + Math.ceil(waitMs), token)
  throw new DelayedError()
}

/** The outputs of the stages before the artifact stay for a while, because the build may be asked for again. */
export async function removeFailed(
  { store, engine, log }: Pick<BuildJobDeps, 'store' | 'engine' | 'log'>,
  buildId: string,
): Promise<void> {
  const versionId = versionIdOf(buildId)
  const folder = store.artifactFolder(versionId)
  await removeArtifact(folder)
  await store
    .unpublish(folder)
    .catch((error: unknown) => log.warn('artifact of a failed build', { build_id: buildId }, error))
  // Garbage collection removes what a cluster keeps that does not answer now.
  await removeIndexesOf(engine, versionId).catch((error: unknown) =>
    log.warn('index of a failed build', { build_id: buildId }, error),
  )
}

/** Why a run ended without a candidate. */
export interface Ending {
  /** A clause that follows "because". */
  readonly reason: string
  readonly kind: 'permanent' | 'out of memory' | 'lost' | 'transient'
}

type Claim =
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
      case 'queued':
        if (build.state === 'retrying' && build.wait_ms > 0) return { claim: 'not due', waitMs: build.wait_ms }
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
    await endRun(client, { waitMs: null, ...fence, ...after })
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
  const failed = (error: string): AfterRun => ({ state: 'failed', ...counted, error })
  const again = `"operator build retry ${buildId}"`
  if (kind === 'permanent') return failed(reason)
  if (counted.outOfMemory && out_of_memory_runs + 1 >= BUILD_BOUNDS.buildOutOfMemoryRunsMax)
    return failed(
      `The build ended ${out_of_memory_runs + 1} times for lack of memory or by SIGKILL, the last time because ` +
        `${reason}. Give the job worker more memory and a larger BUILD_HEAP_MB, or split the corpus, then run ` +
        `${again}.`,
    )
  if (counted.lost && lost_runs + 1 >= BUILD_BOUNDS.buildLostRunsMax)
    return failed(
      `The build lost its job worker ${lost_runs + 1} times, the last time because ${reason}. The likely cause is ` +
        'lack of memory, for which the kernel may end the worker together with the build. Give the job worker more ' +
        `memory, lower BUILD_CONCURRENCY or BUILD_HEAP_MB, or split the corpus, then run ${again}.`,
    )
  if (failed_runs + 1 >= BUILD_BOUNDS.buildFailedRunsMax)
    return failed(
      `The build failed after ${failed_runs + 1} attempts, the last time because ${reason}. Read the log of the ` +
        `job worker, remove the cause, then run ${again}.`,
    )
  return { state: 'retrying', ...counted, error: reason, waitMs: retryWaitMs(failed_runs) }
}

/** The wait after so many earlier runs that failed: it doubles up to a bound. */
export function retryWaitMs(failedRuns: number): number {
  return Math.min(BUILD_BOUNDS.buildRetryFirstMs * 2 ** failedRuns, BUILD_BOUNDS.buildRetryMaxMs)
}
