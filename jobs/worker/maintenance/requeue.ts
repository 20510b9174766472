import { finishActivation, queuedActivations } from '#core/db/activations.ts'
import { unfinishedBuilds } from '#core/db/builds.ts'
import type { Database } from '#core/db/pool.ts'
import { listTraced } from '#core/db/version-chain.ts'
import type { Log } from '#core/platform/log.ts'
import { JOB_BOUNDS } from '#jobs/platform/bounds.ts'
import { enqueueActivation, enqueueBuild, enqueueTrace } from '#jobs/platform/queues.ts'
import type { JobQueue } from '#jobs/platform/queues.ts'
import { TRACE_BOUNDS } from '#jobs/trace/bounds.ts'
import { writtenSequence } from '#jobs/trace/files.ts'

export interface RequeueDeps {
  readonly database: Database
  readonly buildQueue: JobQueue
  readonly activateQueue: JobQueue
  readonly traceQueue: JobQueue
  /** Folder of the public trace. */
  readonly traceDir: string
  readonly log: Log
}

/**
 * Restores the queue from Postgres, which is the source of truth. An unfinished row whose job was lost with Redis gets
 * a new job, and so does a build whose job ended. An activation whose job failed permanently is refused. An existing
 * job keeps its place, since it has the id of its row.
 */
export async function requeue(deps: RequeueDeps): Promise<void> {
  for (const id of await unfinishedBuilds(deps.database, JOB_BOUNDS.requeueMax)) await enqueueBuild(deps.buildQueue, id)
  for (const id of await queuedActivations(deps.database, JOB_BOUNDS.requeueMax)) {
    const failure = await failureOf(deps.activateQueue, id)
    if (failure === undefined) await enqueueActivation(deps.activateQueue, id)
    else
      await finishActivation(
        deps.database,
        id,
        'refused',
        `The activation's job failed (${failure}). Read the log of the job worker, remove the ` +
          'cause, then activate again.',
      )
  }
  await requeueTraces(deps)
}

/** Enqueues the trace of every knowledge base whose version chain is longer than what is written of it. */
export async function requeueTraces(deps: Pick<RequeueDeps, 'database' | 'traceQueue' | 'traceDir'>): Promise<void> {
  for (const { id, slug, sequence } of await listTraced(deps.database, TRACE_BOUNDS.tracedBasesMax))
    if ((await writtenSequence(deps.traceDir, slug)) < sequence) await enqueueTrace(deps.traceQueue, id, sequence)
}

/**
 * Returns why the row's job failed permanently; undefined where it is waiting, running or missing. A job that completed
 * without ending its row is removed to make room for another.
 */
async function failureOf(queue: JobQueue, id: string): Promise<string | undefined> {
  const job = await queue.getJob(id)
  const state = await job?.getState()
  if (state === 'completed') await job?.remove()
  return state === 'failed' ? (job?.failedReason ?? 'unknown reason') : undefined
}
