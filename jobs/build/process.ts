import { rm } from 'node:fs/promises'
import { UnrecoverableError, WaitingError } from 'bullmq'
import type { Job } from 'bullmq'
import type { ArtifactStore } from '#core/index/format/store.ts'
import { failBuild } from '#core/db/builds.ts'
import type { Database } from '#core/db/pool.ts'
import type { JobPayload } from '#core/queues/ledger-queue.ts'
import type { Log } from '#core/platform/log.ts'
import { removeArtifact } from './artifact.ts'
import { projectionIdOf } from './ids.ts'
import { runBuildChild } from './run-child.ts'
import type { BuildOutcome } from './run-child.ts'

export interface BuildJobDeps {
  readonly database: Database
  readonly store: ArtifactStore
  readonly log: Log
  /** Aborted when the worker stops. A running build is then killed and its job returns to the queue. */
  readonly stopping: AbortSignal
  readonly environment?: NodeJS.ProcessEnv
}

type BuildJob = Pick<Job<JobPayload>, 'data' | 'attemptsMade' | 'opts' | 'updateProgress' | 'moveToWait'>

/** Processes one job of the build queue: runs the build's process and ends the job according to its outcome. */
export async function processBuild(deps: BuildJobDeps, job: BuildJob, token: string | undefined): Promise<string> {
  const { id } = job.data
  const outcome = await runBuildChild(id, {
    signal: deps.stopping,
    onProgress: (mark) => void job.updateProgress(mark).catch(() => undefined),
    ...(deps.environment === undefined ? {} : { environment: deps.environment }),
  })
  if (outcome.outcome === 'died' && deps.stopping.aborted) {
    await job.moveToWait(token)
    throw new WaitingError()
  }
  deps.log.info('build run ended', { build_id: id, outcome: outcome.outcome })
  return await settle(deps, job, outcome)
}

async function settle(deps: BuildJobDeps, job: BuildJob, outcome: BuildOutcome): Promise<string> {
  switch (outcome.outcome) {
    case 'succeeded':
    case 'finished before':
    case 'overtaken':
      return outcome.outcome
    case 'failed':
      if (!outcome.permanent && !isLastAttempt(job)) throw new Error(outcome.message)
      await abandonBuild(
        deps,
        job.data.id,
        outcome.permanent ? outcome.message : triedTooOften(outcome.message),
        outcome.attempt,
      )
      throw new UnrecoverableError(outcome.message)
    case 'died':
      if (!isLastAttempt(job)) throw new Error(`the build's process ended with ${outcome.reason}`)
      await abandonBuild(deps, job.data.id, triedTooOften(`its process ended with ${outcome.reason}`))
      throw new UnrecoverableError(outcome.reason)
    default:
      return outcome satisfies never
  }
}

function isLastAttempt(job: BuildJob): boolean {
  return job.attemptsMade + 1 >= (job.opts.attempts ?? 1)
}

function triedTooOften(reason: string): string {
  return (
    `The build failed after several attempts, the last time because ${reason}. Read the log of the ` +
    'job worker, remove the cause, then build again.'
  )
}

/**
 * Fails a build permanently and removes its files. A build that another run finished or took over is left unchanged.
 */
export async function abandonBuild(
  deps: Pick<BuildJobDeps, 'database' | 'store' | 'log'>,
  buildId: string,
  reason: string,
  attempt?: number,
): Promise<void> {
  if (!(await failBuild(deps.database, buildId, reason, attempt))) return
  deps.log.warn('build failed', { build_id: buildId, reason })
  await rm(deps.store.workFolder(buildId), { recursive: true, force: true })
  await removeArtifact(deps.store.artifactFolder(projectionIdOf(buildId)))
}
