import { UnrecoverableError, WaitingError, Worker, type Job, type Processor, type WorkerOptions } from 'bullmq'
import type { Redis } from 'ioredis'
import { QUEUE_BOUNDS } from '#core/queues/bounds.ts'
import type { SignedStore } from '#core/index/format/store.ts'
import type { Database, Queryable } from '#core/db/pool.ts'
import { QUEUE_PREFIX, type JobPayload, type LedgerJobPayload } from '#core/queues/ledger-queue.ts'
import type { EngineSettings } from '#core/engine/settings.ts'
import type { Counters } from '#core/limits/counters.ts'
import type { Settlement } from '#core/limits/settlement.ts'
import type { Log } from '#core/platform/log.ts'
import type { SearchNodeClient } from '#core/rpc/search-client.ts'
import { JOB_BOUNDS } from '../platform/bounds.ts'
import { activate } from '../activate/pipeline.ts'
import { processBuild, removeFailed, endLostRuns } from '../version-build/process.ts'
import { captureScheduled, keepCaptureSchedules, tellOfBuild, type Notified } from '../capture/schedule.ts'
import { reconcile, requeue, requeueTraces } from './maintenance/reconcile.ts'
import { sweep } from './maintenance/sweep.ts'
import { measureDrift, type Drifts } from './maintenance/canaries.ts'
import type { RewriterSettings } from '#core/rewriting/rewriter.ts'
import { collectGarbage } from './maintenance/collect-garbage.ts'
import { openQueue, type JobQueue, type QueueName } from '../platform/queues.ts'
import { writeTrace } from '../trace/pipeline.ts'
import { z } from 'zod'
import { appendLedgerEntries } from '#core/db/ledger.ts'
import { forgetCaptures } from '#core/db/sources.ts'
import { forgetIdempotencyKeys } from '#core/db/requests.ts'

export interface JobsDeps {
  readonly database: Database
  readonly redis: Redis
  readonly store: SignedStore
  readonly nodes: readonly SearchNodeClient[]
  readonly counters: Pick<Counters, 'nowMs'>
  readonly settlement: Pick<Settlement, 'refundOverdue'>
  /** Signs the version chain; Ed25519, PKCS #8. */
  readonly privateKeyDer: Buffer
  /** Folder of the public trace. */
  readonly traceDir: string
  /** Who is told of captures that changed or failed, and of their candidates. */
  readonly notified: Notified
  readonly buildConcurrency: number
  /** Heap limit of the process of a build or a capture. */
  readonly buildHeapMb: number
  readonly vectorCacheBytesMax: number
  /** The cluster of builds for the engine `opensearch`. */
  readonly engine: EngineSettings
  /** The endpoint of rewriters, and what is known of their drift. */
  readonly rewriting: RewriterSettings
  readonly drifts: Drifts
  readonly log: Log
  /** Environment of these processes; the worker's own if absent. */
  readonly environment?: NodeJS.ProcessEnv
}

export interface Jobs {
  /**
   * Kills running builds and captures, and aborts the loading of versions; all return to the queue. Finishes all other
   * jobs, then closes workers and queues.
   */
  close(): Promise<void>
}

/** Starts a worker for every queue, and the schedule of the maintenance jobs. */
export async function startJobs(deps: JobsDeps): Promise<Jobs> {
  const stopping = new AbortController()
  const queues = {
    build: openQueue('build', deps.redis, deps.log),
    activate: openQueue('activate', deps.redis, deps.log),
    trace: openQueue('trace', deps.redis, deps.log),
    capture: openQueue('capture', deps.redis, deps.log),
    maintenance: openQueue('maintenance', deps.redis, deps.log),
  }
  const capture: Processor<JobPayload, string> = async (job, token) => {
    const outcome = await captureScheduled({ ...deps, buildQueue: queues.build }, job.data.id, stopping.signal)
    if (outcome !== 'stopped') return outcome
    await job.moveToWait(token)
    throw new WaitingError()
  }
  const activateThenTrace: Processor<JobPayload, string> = async (job) => {
    const outcome = await activate(deps, job.data.id, stopping.signal)
    // The next sweep does what fails here.
    if (outcome === 'done')
      await requeueTraces({ ...deps, traceQueue: queues.trace }).catch((error: unknown) =>
        deps.log.warn('trace not enqueued', {}, error),
      )
    return outcome
  }
  const workers = [
    startWorker<JobPayload, string>(deps, 'build', buildThenTell(deps, stopping.signal), {
      concurrency: deps.buildConcurrency,
    }),
    startWorker<JobPayload, string>(deps, 'activate', activateThenTrace, { concurrency: 4 }),
    startWorker<JobPayload, void>(deps, 'trace', (job) => writeTrace(deps, job.data.id, stopping.signal), {}),
    startWorker<JobPayload, string>(deps, 'capture', capture, {}),
    startWorker<LedgerJobPayload, void>(deps, 'ledger', (job) => processLedgerJob(deps.database, job.data), {
      concurrency: QUEUE_BOUNDS.ledgerConcurrency,
    }),
    startWorker<JobPayload, void>(deps, 'maintenance', maintenance(deps, queues), {
      concurrency: Object.keys(SCHEDULE).length,
    }),
  ]
  await keepSchedule(queues.maintenance)
  let winding: Promise<void> | undefined
  const clock = setInterval(() => {
    winding ??= keepSchedule(queues.maintenance)
      .catch((error: unknown) => deps.log.warn('maintenance clock', {}, error))
      .finally(() => (winding = undefined))
  }, JOB_BOUNDS.sweepEveryMs)
  return {
    async close() {
      stopping.abort()
      clearInterval(clock)
      await Promise.all(workers.map((worker) => worker.close()))
      await Promise.all(Object.values(queues).map((queue) => queue.close()))
    },
  }
}

function buildThenTell(deps: JobsDeps, stopping: AbortSignal): Processor<JobPayload, string> {
  return async (job, token) => {
    try {
      const outcome = await processBuild({ ...deps, stopping }, job, token)
      if (outcome === 'succeeded') await tellOfEnd(deps, job.data.id)
      return outcome
    } catch (error) {
      if (error instanceof UnrecoverableError) await tellOfEnd(deps, job.data.id)
      throw error
    }
  }
}

async function tellOfEnd(deps: JobsDeps, buildId: string): Promise<void> {
  await tellOfBuild(deps, buildId).catch((error: unknown) => deps.log.warn('end of a build', {}, error))
}

function startWorker<P, R>(
  deps: JobsDeps,
  name: QueueName,
  processor: Processor<P, R>,
  options: Partial<WorkerOptions>,
): Worker<P, R> {
  const worker = new Worker<P, R>(name, processor, {
    connection: deps.redis,
    prefix: QUEUE_PREFIX,
    skipVersionCheck: true,
    lockDuration: JOB_BOUNDS.jobLockMs,
    stalledInterval: JOB_BOUNDS.jobStalledEveryMs,
    maxStalledCount: JOB_BOUNDS.jobStallsMax,
    drainDelay: 1,
    ...options,
  })
  worker.on('error', (error) => deps.log.warn('worker', { queue: name }, error))
  worker.on('failed', (job: Job<P> | undefined, error) =>
    deps.log.warn('job failed', { queue: name, job_id: job?.id, attempts: job?.attemptsMade }, error),
  )
  return worker
}

const SCHEDULE = {
  sweep: JOB_BOUNDS.sweepEveryMs,
  reconcile: JOB_BOUNDS.reconcileEveryMs,
  tidy: JOB_BOUNDS.garbageCollectionEveryMs,
  canaries: JOB_BOUNDS.canariesEveryMs,
} as const

/** Restores missing schedules of the maintenance jobs. Redis holds the schedules, so they are lost with it. */
async function keepSchedule(queue: JobQueue): Promise<void> {
  for (const [id, every] of Object.entries(SCHEDULE)) {
    if ((await queue.getJobScheduler(id)) === undefined)
      await queue.upsertJobScheduler(id, { every }, { name: id, data: { id } })
  }
}

/**
 * Processes scheduled jobs. A run that exceeds its interval does not overlap with another of the same kind in this
 * process.
 */
function maintenance(
  deps: JobsDeps,
  queues: Readonly<Record<'build' | 'activate' | 'trace' | 'capture', JobQueue>>,
): Processor<JobPayload, void> {
  const running = new Set<string>()
  const work: Readonly<Record<string, () => Promise<unknown>>> = {
    sweep: async () => {
      await sweep(deps)
      for (const { buildId } of await endLostRuns(deps.database)) {
        await removeFailed(deps, buildId)
        await tellOfEnd(deps, buildId)
      }
      await requeue({
        ...deps,
        buildQueue: queues.build,
        activateQueue: queues.activate,
        traceQueue: queues.trace,
      })
      await keepCaptureSchedules(queues.capture, deps.database)
    },
    reconcile: () => reconcile(deps),
    canaries: () => measureDrift(deps),
    tidy: () => Promise.all([collectGarbage(deps), forgetKeys(deps), forgetOldCaptures(deps)]),
  }
  return async ({ data: { id } }) => {
    if (running.has(id)) return
    running.add(id)
    try {
      await work[id]?.()
    } finally {
      running.delete(id)
    }
  }
}

/** Nothing but ids; the rows are read from Postgres. */
const payloadSchema = z.strictObject({ ids: z.array(z.uuid()).max(QUEUE_BOUNDS.ledgerBatchMax) })

/** Appends the ledger entries of settled reservations. Entries that exist, and open reservations, are left alone. */
export async function processLedgerJob(database: Queryable, payload: unknown): Promise<void> {
  await appendLedgerEntries(database, payloadSchema.parse(payload).ids)
}

/** Forgets old captures that found nothing new, a batch a run: a short schedule makes many of them. */
export async function forgetOldCaptures({
  database,
  log,
}: {
  readonly database: Database
  readonly log: Log
}): Promise<number> {
  const forgotten = await forgetCaptures(database, JOB_BOUNDS.capturesKeptDays, JOB_BOUNDS.capturesForgottenMax)
  if (forgotten > 0) log.info('captures forgotten', { forgotten })
  return forgotten
}

/**
 * Forgets Idempotency-Keys past the time for which they are held, in batches until none is due or the next run begins.
 * A reserved request and one without a ledger entry keep theirs. Runs may repeat or overlap.
 * @returns how many were forgotten.
 */
export async function forgetKeys({
  database,
  log,
}: {
  readonly database: Database
  readonly log: Log
}): Promise<number> {
  const endsAtMs = performance.now() + JOB_BOUNDS.garbageCollectionEveryMs
  let forgotten = 0
  for (;;) {
    const batch = await forgetIdempotencyKeys(database, JOB_BOUNDS.idempotencyKeptDays, JOB_BOUNDS.idempotencyBatchMax)
    forgotten += batch
    if (batch < JOB_BOUNDS.idempotencyBatchMax || performance.now() > endsAtMs) break
  }
  if (forgotten > 0) log.info('idempotency keys forgotten', { forgotten })
  return forgotten
}
