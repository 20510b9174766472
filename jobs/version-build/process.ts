import { DelayedError, UnrecoverableError, WaitingError } from 'bullmq'
import type { Job } from 'bullmq'
import type { ArtifactStore } from '#core/index/format/store.ts'
import { recordHeartbeat, releaseRun } from '#core/db/build-runs.ts'
import type { BuildFence } from '#core/db/builds.ts'
import type { Database } from '#core/db/pool.ts'
import type { EngineSettings } from '#core/engine/settings.ts'
import type { JobPayload } from '#core/queues/ledger-queue.ts'
import type { Log } from '#core/platform/log.ts'
import { BUILD_BOUNDS } from './bounds.ts'
import { removeIndexesOf } from './engine.ts'
import { versionIdOf } from './ids.ts'
import { removeArtifact } from './remove.ts'
import { runBuildChild } from './run-child.ts'
import type { BuildOutcome } from './run-child.ts'
import { claimRun, settleRun } from './runs.ts'
import type { Ending } from './runs.ts'

export interface BuildJobDeps {
  readonly database: Database
  readonly store: ArtifactStore
  readonly log: Log
  /** Aborted when the worker stops. A running build is then killed and its job returns to the queue. */
  readonly stopping: AbortSignal
  /** Heap limit of a build's process. */
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
  const heartbeat = setInterval(() => {
    recordHeartbeat(deps.database, fence).catch((error: unknown) => deps.log.warn('build heartbeat', {}, error))
  }, BUILD_BOUNDS.buildHeartbeatEveryMs)
  try {
    return await runBuildChild(fence, {
      signal: deps.stopping,
      heapMb: deps.buildHeapMb,
      onProgress: (mark) => void job.updateProgress(mark).catch(() => undefined),
      ...(deps.environment === undefined ? {} : { environment: deps.environment }),
    })
  } finally {
    clearInterval(heartbeat)
  }
}

async function settle(
  deps: BuildJobDeps,
  job: BuildJob,
  token: string | undefined,
  fence: BuildFence,
  outcome: BuildOutcome,
): Promise<string> {
  deps.log.info('build run ended', { build_id: fence.buildId, attempt: fence.attempt, outcome: outcome.outcome })
  switch (outcome.outcome) {
    case 'succeeded':
    case 'overtaken':
      return outcome.outcome
    case 'stopped':
      await releaseRun(deps.database, fence)
      await job.moveToWait(token)
      throw new WaitingError()
    case 'failed':
      return await endRun(deps, job, token, fence, { kind: outcome.kind, reason: outcome.message })
    case 'died':
      return await endRun(deps, job, token, fence, {
        kind: outcome.outOfMemory ? 'out of memory' : 'transient',
        reason: outcome.reason,
      })
    default:
      return outcome satisfies never
  }
}

async function endRun(
  deps: BuildJobDeps,
  job: BuildJob,
  token: string | undefined,
  fence: BuildFence,
  ending: Ending,
): Promise<string> {
  const after = await settleRun(deps.database, fence, ending)
  if (after === undefined) return 'overtaken'
  const detail = { build_id: fence.buildId, attempt: fence.attempt, reason: ending.reason, state: after.state }
  deps.log.warn('build run ended without a candidate', detail)
  if (after.state === 'retrying') return await lookAgainIn(after.waitMs, job, token)
  await removeFailed(deps, fence.buildId)
  throw new UnrecoverableError(after.error)
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
  await removeArtifact(store.artifactFolder(versionId))
  // Garbage collection removes what a cluster keeps that does not answer now.
  await removeIndexesOf(engine, versionId).catch((error: unknown) =>
    log.warn('index of a failed build', { build_id: buildId }, error),
  )
}
